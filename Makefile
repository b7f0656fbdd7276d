# Tools are pinned here and run from the module proxy: nothing needs to be installed beforehand but Go and make.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOCOGNIT = github.com/uudashr/gocognit/cmd/gocognit@v1.2.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0

.PHONY: build test test-long lint unit kernels bands sample bench answers answers-diff answers-speed vuln update browser readers release notices mutate soak cluster bench-scan fuzz bench-web wheel

build:            ## one static binary
	CGO_ENABLED=0 go build -trimpath -tags stdlibjson -o throughline ./cmd/throughline

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
CONCURRENT = ./model ./internal/catalogue ./internal/advice ./internal/cli ./internal/sweep ./internal/chart ./internal/matrix ./engine ./experts ./search ./hardware ./hardware/kernel ./hardware/shape ./internal/atomicfile ./internal/bench ./internal/emulate ./internal/jobfile ./internal/parquet ./internal/test/answers ./internal/test/cloud ./internal/test/mutate ./internal/test/soak ./internal/document ./internal/web ./internal/parallel ./internal/protocol
# Those whose tests take longest come first, lest one of them runs on alone.
LONGEST = ./internal/cli ./internal/advice ./internal/validate ./internal/e2e/loop
PROPERTIES = ./search ./estimate ./op ./hardware/kernel ./internal/advice

# However busy the machine is: what hangs is ended, what is slow is not.
PATIENCE = -timeout 1h

# Tests of servers mostly wait: twice as many packages as processors at a time. Without getconf, as many as go takes.
TOGETHER = $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null) && echo -p $$((2 * n)))

# Tests keep little and leave much: rarer collections save a sixth of their time.
unit: export GOGC = 400
unit:             ## lint has vetted all of it
	go test -vet=off $(PATIENCE) $(TOGETHER) $(LONGEST) ./...
	go test -vet=off $(PATIENCE) $(TOGETHER) -race -short $(CONCURRENT)

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

bench-scan:       ## scans: processor time of each kind of points, memory, and what a large scan would take
	go test -run "^$$" -bench Scan -benchtime 1x ./internal/sweep

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

# How long each target is fuzzed; the tests read damaged files of a fixed seed besides.
FUZZTIME = 20s

fuzz:             ## readers of files and streams get whatever breaks them; 36 targets
	@for package in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -h '^func Fuzz' $$package/*_test.go | sed 's/func \(Fuzz[A-Za-z]*\).*/\1/'); do \
	    echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 0x $$package || exit 1; \
	  done; done

# PACKAGES are folders; those of the domain unless given.
PACKAGES =
N = 30
SEED = 1

mutate:           ## would the tests notice a mistake? changes one operator, number or statement at a time, and writes mutate.csv
	go run ./internal/test/mutate -packages "$(PACKAGES)" -n $(N) -seed $(SEED)

# How long the program is left alone.
SOAKTIME = 1h

soak:             ## Linux: command lines with little memory and few files, a third of them killed; scans into folders that fill up; servers under rude clients: nothing else is left behind, nothing grows
	go run ./internal/test/soak -for $(SOAKTIME) -seed $(SEED)

release: notices  ## archives of six systems, Debian packages, a container image, lists of contents and checksums, into build/release
	go run ./cmd/release

notices:          ## the licences of all that the program contains are in THIRD_PARTY_NOTICES
	go test -count=1 -run TestNotices ./internal/test/structure

wheel:            ## Python packages that carry the program, for Linux, macOS and Windows, in build/wheels
	python3 python/wheel.py build/wheels $(PLATFORMS)

vuln:             ## needs the vulnerability database on the network
	go run $(GOVULNCHECK) ./...

readers:          ## programs of others that tests open the results with (DuckDB and a reader of timelines, by npm), check pages with (axe-core) and ask servers with (OpenAI's library); LibreOffice is taken where it is installed
	npm ci --no-audit --no-fund --prefix internal/e2e/readers
	npm ci --no-audit --no-fund --prefix internal/e2e/openai
	npm ci --no-audit --no-fund --prefix internal/e2e/browser

update:           ## rewrite golden files, schemas and examples in the docs; read the diff
	go test ./internal/question ./internal/report ./plan ./op ./cost ./collective ./schedule ./estimate ./hardware/kernel ./search ./serving/... ./internal/cli ./internal/picture ./internal/e2e/formats ./internal/e2e/sample ./hardware ./model ./engine ./internal/test/structure ./internal/api -update

cluster:          ## scans on Slurm, in an S3 bucket and on Kubernetes, all on this machine; what is not installed is skipped, aloud
	scripts/cluster/slurm.sh
	scripts/cluster/s3.sh
	scripts/cluster/kubernetes.sh

browser:          ## a browser for the tests of HTML reports and of the page, which are skipped without one, and axe-core
	scripts/browser.sh
	npm ci --no-audit --no-fund --prefix internal/e2e/pages

bench-web:        ## how fast the page is in a browser: view,metric,median_ms,p95_ms
	@go test -count=1 -timeout 20m -run '^$$' -bench Web -benchtime 1x -v ./internal/e2e/pages | grep -E '^[a-z0-9-]+,'
