# Tools are pinned here and run from the module proxy: nothing needs to be installed beforehand but Go and make.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0

.PHONY: build test lint unit sample bench vuln update

build:            ## one static binary
	CGO_ENABLED=0 go build -trimpath -o throughline ./cmd/throughline

test: lint unit   ## all that must pass

lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not gofmt-ed:"; echo "$$bad"; exit 1; fi
	go mod tidy -diff
	go vet ./...
	go run $(STATICCHECK) ./...

# Fits, and trying everything, are arithmetic that nothing runs beside: they are tested without the race detector, under
# which they take twenty times as long.
unit:
	go test -race $$(go list ./... | grep -v /calibrate)
	go test ./internal/calibrate
	go test -run 'TestValidation|TestMeasured|TestCalibratedBatch' ./internal/cli ./internal/validate ./search

sample:           ## the sample of the reference tool
	go run ./cmd/throughline run -c configs/reference_sample.json

bench:
	go test -run '^$$' -bench . -benchmem ./...

vuln:             ## needs the vulnerability database on the network
	go run $(GOVULNCHECK) ./...

update:           ## rewrite golden files, schemas and examples in the docs; read the diff
	go test ./internal/cli ./internal/e2e/formats ./internal/e2e/sample ./hardware ./model ./engine -update
