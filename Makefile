# Every target works from a clean checkout. The servers are built once into .build/bin; TEMPORAL_BIN and MAESTRO_BIN
# name installed ones instead.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BUILD   := .build
BIN     := $(BUILD)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
DATE    ?= $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
STAMP   := -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

# Nothing here needs cgo but the race detector. Mixing both would compile nearly everything twice.
export CGO_ENABLED := 0
export GOTOOLCHAIN := local
GO      := go
STRIP   := -trimpath -ldflags "-s -w"
CC      ?= cc
# The race detector needs a C compiler.
RACE    := $(shell command -v $(CC) >/dev/null 2>&1 && echo yes)
ifeq ($(RACE),yes)
GO_RACE := CGO_ENABLED=1 go test -race
else
GO_RACE := go test
endif
FUZZTIME ?= 60s
INTEGRATION := ./internal/devstack/... ./testsuite/contract ./starter/... ./testsuite/replay

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build maestro-worker, maestro-cli and devstack into .build/bin
	$(GO) build -trimpath -ldflags "$(STAMP)" -o $(BIN)/maestro-worker ./worker
	$(GO) build -trimpath -ldflags "$(STAMP)" -o $(BIN)/maestro-cli ./starter/maestro-cli
	$(GO) build -trimpath -o $(BIN)/devstack ./internal/devstack/cmd/devstack

.PHONY: servers
servers: build ## Build the real Temporal and Maestro where they are missing (minutes, once)
	$(BIN)/devstack build

.PHONY: demo
demo: build ## Run the main job on real parts, print the result, clean up
	$(BIN)/devstack run --consumers cluster-a1 --worker $(BIN)/maestro-worker -- deploy/demo/demo.sh $(BIN)

.PHONY: up
up: build ## Start Temporal, Maestro, simulated clusters and a worker in the background
	$(BIN)/devstack up --worker $(BIN)/maestro-worker

.PHONY: down
down: build ## Stop what `make up` started
	$(BIN)/devstack down

.PHONY: test
test: test-unit servers test-real test-chaos e2e ## Run all tests; builds and starts the real servers

.PHONY: test-unit
test-unit: ## Tests that need no server: fast, with the race detector
	@[ "$(RACE)" = yes ] || echo "no C compiler: the race detector is off"
	$(GO) vet ./...
	$(GO) vet -tags integration ./...
	$(GO_RACE) -shuffle on -timeout 10m ./...

.PHONY: test-real
test-real: servers ## Tests of single parts against the real servers
	$(GO) test -tags integration -count 1 -timeout 20m -p 1 $(INTEGRATION)

.PHONY: e2e
e2e: servers ## Whole operations on the real servers, with everything killed in the middle
	$(GO_RACE) -tags integration -count 1 -timeout 25m -v ./testsuite/e2e

.PHONY: test-chaos
test-chaos: servers ## A short `make chaos`
	$(GO) test -tags integration -count 1 -timeout 10m -v ./testsuite/chaos

.PHONY: chaos
chaos: servers ## Run 500 operations while workers are killed and Maestro fails; OPERATIONS and SEED choose others
	$(GO) test -tags integration -count 1 -timeout 40m -v ./testsuite/chaos -args -operations $(or $(OPERATIONS),500) -seed $(or $(SEED),0)

.PHONY: soak
soak: servers ## Send 20,000 tickets through one mutex; TICKETS chooses another number
	$(GO) test -tags integration -count 1 -timeout 60m -v -run TestManyTickets ./testsuite/e2e -args -tickets $(or $(TICKETS),20000)

.PHONY: replay
replay: ## Replay the recorded histories
	$(GO) test -count 1 -v ./testsuite/replay

.PHONY: histories
histories: servers ## Record the histories that are missing; recorded ones are never changed
	$(GO) test -tags integration -count 1 -timeout 10m -run Record ./testsuite/replay -record

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (60s)
	@targets=$$($(GO) test -list '^Fuzz' ./internal/manifest | grep '^Fuzz'); for target in $$targets; do \
	  $(GO) test ./internal/manifest -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME); \
	done

.PHONY: bench
bench: servers ## Time large works, from start to result beside a bare client, and the mutex beside its peers
	$(GO) test -count 1 -run '^$$' -bench 'Large|Diff' -benchmem ./internal/manifest
	$(GO) test -tags integration -count 1 -timeout 15m -run '^$$' -bench . -benchtime 1x ./testsuite/e2e

.PHONY: fmt
fmt: ## Format the Go code
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: $(BIN)/golangci-lint ## Lint, with the dependency rules
	$(BIN)/golangci-lint run ./...

$(BIN)/golangci-lint: tools/golangci-lint/go.sum
	cd tools/golangci-lint && $(GO) build $(STRIP) -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: tidy
tidy: ## Tidy the main module
	$(GO) mod tidy

.PHONY: verify
verify: ## Fail when formatting, modules or generated pages are stale
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted: run make fmt"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) generate ./internal/config && git diff --exit-code -- docs
