# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Everything that is done to this repository. It needs Go 1.26, git and make; whatever else is needed is built from the
# Go module proxy into bin/. "make" says what there is.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO      ?= go

# Kubernetes takes minutes to compile, so everything here is compiled in one way and shares one build cache: without C,
# which makes static programs; without Google's storage client over gRPC, which nothing uses and which takes 24 MB; and
# with -trimpath, as releases are. Have your own commands do the same:
#     go env -w CGO_ENABLED=0 GOFLAGS='-trimpath -tags=disable_grpc_modules'
TAGS = disable_grpc_modules
export CGO_ENABLED = 0
export GOFLAGS    := $(strip $(GOFLAGS) -trimpath -tags=$(TAGS))
# The compiler spends a fifth of its time on freeing memory that it gives back soon enough when it ends. Tests have the
# collector as users have it.
BUILD = env GOGC=400 $(GO) build
TEST  = env GOGC=400 $(GO) test -exec 'env -u GOGC'

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Kubernetes' own packages say which version they are only when they are told: "kubectl version" asks.
KUBERNETES = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2 }' go.mod)
LDFLAGS  = -s -w -X github.com/yuba-dev/yuba/internal/kit/version.Version=$(VERSION) \
	-X k8s.io/component-base/version.gitVersion=$(KUBERNETES) -X k8s.io/component-base/version.gitCommit= \
	-X k8s.io/component-base/version.gitTreeState=clean
# Which packages "make test" and "make lint" look at, and what else "go test" is told.
PACKAGES  ?= ./...
TESTFLAGS ?=
BENCHFLAGS ?=

GOVULNCHECK = v1.1.4

.PHONY: help
help: ## Show this list
	@echo 'Usage: make TARGET'
	@echo
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Build and run

.PHONY: build
build: ## Build bin/yuba and the programs beside it
	$(BUILD) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: tofu
tofu: ## Build bin/tofu, unless it is there or a suitable tofu is on PATH (2 minutes once)
	@BUILD='$(BUILD)' tools/ensure-tofu

.PHONY: providers
providers: ## Build the providers of examples/providers into bin/providers (4 minutes once)
	@GO='$(GO)' BUILD='$(BUILD)' tools/ensure-providers

# What the demo and the pages need of the program of that name, so that none has to be installed.
.PHONY: sqlite3
sqlite3: ## Build bin/sqlite3, which runs SQL on a SQLite file
	$(BUILD) -o bin/sqlite3 ./test/sqlite3

# In parallel: linking uses one core.
.PHONY: demo
demo: ## Start Yuba and run the quickstart; ONCE=1 stops after the tour
	@$(MAKE) --no-print-directory -j3 build tofu sqlite3
	@ONCE='$(ONCE)' ./examples/quickstart/demo.sh

# Which platforms "make release" is for, and the key that signs ($YUBA_SIGNING_KEY) are for whoever releases to say.
PLATFORMS ?= linux/amd64,linux/arm64
RELEASE = GO='$(GO)' VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' TAGS='$(TAGS)' LDFLAGS='$(LDFLAGS)'

.PHONY: release
release: build ## Write a release into dist/ (6 minutes for each platform once; PLATFORMS=linux/amd64)
	@$(RELEASE) tools/make-release dist

.PHONY: release-check
release-check: build ## Build this platform's release twice, in two directories, and compare the bytes
	@$(RELEASE) tools/make-release --check

##@ Check

# The conformance suite has a target of its own, and so has what needs servers of others. What stands in for
# providers in these tests is a module of its own, as providers are.
.PHONY: test
test: build tofu sqlite3 ## Run all tests (PACKAGES=./internal/tofu/plan TESTFLAGS='-run X -v' for some)
	$(if $(filter ./...,$(PACKAGES)),cd test/standin && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd tools/release && $(TEST) ./...)
	$(TEST) -timeout 40m $(TESTFLAGS) $(if $(filter ./...,$(PACKAGES)),$$($(GO) list ./... | grep -v -e '/test/conformance$$' -e '/test/services'),$(PACKAGES))

# The race detector needs a C compiler. Packages that link Kubernetes take hours with it, so CI runs the others only. It
# makes code some ten times slower: tests whose subject is a limit of time, or a size, are left to "make test".
RACEFLAGS = -race -short -skip '^(TestNothingMakesMaskingSlow|TestHostileExpressions.*|TestAnEvaluationEndsWithItsContext|TestAPlanOf64MiBGoesThrough)$$'

.PHONY: race-light
race-light: build tofu ## Run the tests that do not link Kubernetes with the race detector
	CGO_ENABLED=1 $(TEST) $(RACEFLAGS) -timeout 30m $(TESTFLAGS) $(if $(filter ./...,$(PACKAGES)),$$(GO='$(GO)' tools/race-packages light),$(PACKAGES))

.PHONY: race
race: race-light ## Run all tests of packages with the race detector (hours)
	CGO_ENABLED=1 $(TEST) $(RACEFLAGS) -timeout 120m $(TESTFLAGS) $$(GO='$(GO)' tools/race-packages heavy)

# The servers run for the time of the tests, on ports of their own.
.PHONY: test-services
test-services: build tofu ## Run the tests that need MariaDB and PostgreSQL (as root on Debian it installs them)
	@tools/ensure-databases
	$(TEST) -timeout 20m $(TESTFLAGS) ./test/services/...

# A KUBECONFIG of the environment does not count: whoever has one set did not ask for stacks to be made there.
.PHONY: conformance
conformance: tofu ## Try what users of tofu-controller rely on (KUBECONFIG=file: on that API)
	$(TEST) -timeout 30m $(TESTFLAGS) ./test/conformance $(if $(filter command,$(origin KUBECONFIG)),-kubeconfig $(abspath $(KUBECONFIG)))

# The short form is part of "make test".
.PHONY: chaos
chaos: tofu ## Kill Yuba, cut the power, damage files, 350 times in all, and look for losses (CHAOSFLAGS='-run X -args -seed 7')
	$(TEST) -count=1 -timeout 120m -v ./test/chaos $(or $(CHAOSFLAGS),-args -stacks 24 -kills 200 -applies 100 -fells 50 -cuts 50 -damages 50 -settle 10m)

# The short form is part of "make test".
.PHONY: bad-input
bad-input: tofu ## Try hundreds of bad stacks and 1000 damaged programs (BADFLAGS='-seed 7 -mutants 5000')
	$(TEST) -count=1 -timeout 120m -v ./test/badinput $(or $(BADFLAGS),-mutants 1000)

.PHONY: bench
bench: build tofu ## Measure what Yuba costs next to tofu by hand (BENCHFLAGS='-json' or '-only idle')
	$(GO) run ./test/bench $(BENCHFLAGS)

# How large the fleet is, which of its rows are measured, and how often what is compared with tofu by hand.
SIZE   ?= 1000
ROWS   ?= fleet
TRIALS ?= 3

.PHONY: bench-fleet
bench-fleet: build tofu ## Measure a fleet of stacks next to tofu by hand (SIZE=100 ROWS=fleet-apply TRIALS=1 BENCHFLAGS=-markdown)
	$(GO) run ./test/bench -only '$(ROWS)' -fleet $(SIZE) -n $(TRIALS) $(BENCHFLAGS)

.PHONY: lint
lint: bin/golangci-lint ## Check the code against .golangci.yml
	bin/golangci-lint run $(PACKAGES)

# Not part of CI, which reaches the module proxy only: the database is at vuln.go.dev (GOVULNDB=file:///DIR names a copy).
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what Yuba calls (needs vuln.go.dev)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) $(PACKAGES)

.PHONY: generate
generate: bin/controller-gen ## Write what is generated: deep copies, CRDs and references
	@tools/generate

.PHONY: verify
verify: bin/controller-gen ## Fail when something generated, or go.mod, is not up to date
	@tools/generate --verify
	@$(GO) mod tidy -diff >/dev/null || { printf 'go.mod or go.sum is not up to date. To write them:\n    go mod tidy\n' >&2; exit 1; }

##@ Tidy up

.PHONY: clean
clean: ## Delete bin/ and dist/
	rm -rf bin dist

# The tools are a module of their own, so that what they need does not mix with what Yuba needs.
bin/controller-gen: tools/go.mod
	$(BUILD) -C tools -ldflags '-s -w' -o ../bin/ sigs.k8s.io/controller-tools/cmd/controller-gen

bin/golangci-lint: tools/go.mod
	@echo 'Building golangci-lint, about 2 minutes once'
	$(BUILD) -C tools -ldflags '-s -w' -o ../bin/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
