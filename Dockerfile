# The program and nothing else: it is static, and its models and systems are built in.
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags stdlibjson -ldflags="-s -w" -o /throughline ./cmd/throughline

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /throughline /throughline
USER 65534
ENTRYPOINT ["/throughline"]
