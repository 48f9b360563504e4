# Tools are installed at pinned versions into ./bin, nothing else on the machine is touched but for
# the Debian packages that .ci/need names (it installs them where it may, else it says how).
SHELL := /bin/bash
GOLANGCI := bin/golangci-lint-v2.15.0
GOFUMPT := bin/gofumpt-v0.12.0
GOTESTSUM := bin/gotestsum-v1.13.0
FUZZTIME ?= 20s
# The man page writer of the command line library, which nothing here uses, costs every start 0.3 ms.
TAGS := urfave_cli_no_docs

.PHONY: help build release image test bench fuzz lint demo e2e
help: ## list these targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

build: ## build bin/hermes-exec
	CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -o bin/ ./cmd/hermes-exec

release: ## build dist/ for VERSION (default: git describe), the same bytes on every machine: archives, .deb, image, SBOM, checksums
	go run ./internal/release -tags '$(TAGS)' -version '$(VERSION)'

image: ## build the image hermes-exec/python:3, without a registry if need be
	@.ci/image hermes-exec/python:3

demo: build ## run a real script with real tools on this tree
	@.ci/need python3
	bin/hermes-exec run examples/report.py

test: $(GOTESTSUM) ## run every test that this machine can, and name those it cannot
	@.ci/need python3 gcc
	.ci/python-tests
	$(GOTESTSUM) --format pkgname-and-test-fails -- -race -timeout 45m ./e2e ./... # the longest first

e2e: $(GOTESTSUM) ## run the tests that need real environments; HERMES_E2E=docker,ssh makes a missing one a failure
	$(GOTESTSUM) --format pkgname-and-test-fails -- -race -timeout 40m ./e2e/...

bench: build ## measure against floors in the same run; BENCH_JSON=FILE adds a JSON line a row
	@.ci/need python3 taskset
	go run ./internal/bench -product bin/hermes-exec

fuzz: ## run every fuzz target for FUZZTIME (20s)
	.ci/fuzz $(FUZZTIME)

lint: $(GOLANGCI) $(GOFUMPT) ## check the code, its types and its format
	@.ci/need mypy
	mypy --strict --no-error-summary --python-version 3.9 python/hermes/*.py python/alone/*.py
	$(GOLANGCI) run ./...
	@test -z "$$($(GOFUMPT) -l . | tee /dev/stderr)"

$(GOLANGCI): ; .ci/tool $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(GOFUMPT): ; .ci/tool $@ mvdan.cc/gofumpt
$(GOTESTSUM): ; .ci/tool $@ gotest.tools/gotestsum
