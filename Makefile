# Tools are pinned here and run from the module proxy: nothing needs to be installed beforehand but Go and make.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOCOGNIT = github.com/uudashr/gocognit/cmd/gocognit@v1.2.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0

.PHONY: build test test-long lint unit kernels bands sample bench answers answers-diff answers-speed vuln update browser readers

build:            ## one static binary
	CGO_ENABLED=0 go build -trimpath -o throughline ./cmd/throughline

test: lint unit   ## all that must pass

lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not gofmt-ed:"; echo "$$bad"; exit 1; fi
	go mod tidy -diff
	go vet ./...
	go run $(STATICCHECK) ./...
	go run $(GOCOGNIT) -over 25 -test=false .

# Packages that work on several processors at a time, or guard what those share; a test compares the list with the code. The
# race detector looks for accesses, not for values: there property tests draw a fifth of their cases, long ones a few. All
# others are arithmetic that nothing runs beside, and is tested without it, under which it takes ten times as long.
CONCURRENT = ./internal/advice ./internal/cli ./internal/sweep ./internal/chart ./internal/matrix ./engine ./experts ./search ./hardware ./hardware/kernel ./hardware/shape ./internal/atomicfile ./internal/bench ./internal/emulate ./internal/jobfile ./internal/test/answers
# Those whose tests take longest come first, lest one of them runs on alone.
LONGEST = ./internal/cli ./internal/advice ./internal/validate ./internal/e2e/loop
PROPERTIES = ./search ./estimate ./op ./hardware/kernel ./internal/advice

# However busy the machine is: what hangs is ended, what is slow is not.
PATIENCE = -timeout 1h

unit:             ## lint has vetted all of it
	go test -vet=off $(PATIENCE) $(LONGEST) ./...
	go test -vet=off $(PATIENCE) -race -short $(CONCURRENT)

test-long: lint   ## the same at full length: an hour
	THROUGHLINE_TEST_LONG=1 go test -timeout 1h ./...
	THROUGHLINE_TEST_LONG=1 go test -timeout 2h -race $$(go list ./... | grep -v /calibrate)
	go test -timeout 2h $(PROPERTIES) -rapid.checks 2000

kernels:          ## fit the built-in kernels anew, and docs/calibration.md; needs the measurements in ../shared
	go run ./cmd/lab kernels

bands:            ## find the widths of bands anew, and how often they hold; needs the measurements in ../shared
	go run ./cmd/lab bands

sample:           ## the sample of the reference tool
	go run ./cmd/throughline run -c configs/reference_sample.json

bench:
	go test -run '^$$' -bench . -benchmem ./...

# The safety net of a change that should move no answer: BASE is a commit, or a file that make answers has written.
BASE = HEAD

answers:          ## ask the working tree all questions, and write its answers to build/answers.json; count the cells of the sample
	go run ./internal/test/answers write
	go test -count=1 -v -run TestPublishedSample ./internal/e2e/sample

answers-diff:     ## which answers of the working tree are not those of BASE, and by how much
	go run ./internal/test/answers diff -base $(BASE)

answers-speed:    ## how fast the working tree and the commit BASE are, measured in turns
	go run ./internal/test/answers speed -base $(BASE)

vuln:             ## needs the vulnerability database on the network
	go run $(GOVULNCHECK) ./...

readers:          ## programs of others that tests open the results with (DuckDB, by npm) and ask servers with (OpenAI's library); LibreOffice is taken where it is installed
	npm ci --no-audit --no-fund --prefix internal/e2e/readers
	npm ci --no-audit --no-fund --prefix internal/e2e/openai

update:           ## rewrite golden files, schemas and examples in the docs; read the diff
	go test ./internal/cli ./internal/picture ./internal/e2e/formats ./internal/e2e/sample ./hardware ./model ./engine ./internal/test/structure -update

browser:          ## a browser for the tests of HTML reports, which are skipped without one
	scripts/browser.sh
