# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Everything that is done to this repository. It needs Go 1.26, git and make; whatever else is needed is built from the
# Go module proxy into bin/. "make" says what there is.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  = -s -w -X github.com/yuba-dev/yuba/internal/version.Version=$(VERSION)
# Which packages "make test" and "make lint" look at, and what else "go test" is told.
PACKAGES  ?= ./...
TESTFLAGS ?=
BENCHFLAGS ?=

.PHONY: help
help: ## Show this list
	@echo 'Usage: make TARGET'
	@echo
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Build and run

# Without -trimpath, so that tests use what was compiled here: Kubernetes takes minutes to compile twice.
.PHONY: build
build: ## Build bin/yuba and the programs beside it
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/yuba ./cmd/yuba
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/yuba-runner ./cmd/yuba-runner
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o bin/yuba-sandbox ./cmd/yuba-sandbox
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o bin/yuba-kustomize ./cmd/yuba-kustomize

.PHONY: tofu
tofu: ## Build bin/tofu, unless it is there or a suitable tofu is on PATH (2.5 minutes once)
	@GO='$(GO)' tools/ensure-tofu

.PHONY: providers
providers: ## Build the providers of examples/providers into bin/providers (4 minutes once)
	@GO='$(GO)' tools/ensure-providers

# What the demo and the pages need of the program of that name, so that none has to be installed.
.PHONY: sqlite3
sqlite3: ## Build bin/sqlite3, which runs SQL on a SQLite file
	CGO_ENABLED=0 $(GO) build -o bin/sqlite3 ./test/sqlite3

.PHONY: demo
demo: build tofu sqlite3 ## Start Yuba and run the quickstart; ONCE=1 stops after the tour
	@ONCE='$(ONCE)' ./examples/quickstart/demo.sh

##@ Check

# The conformance suite has a target of its own, and so has what needs servers of others. What stands in for
# providers in these tests is a module of its own, as providers are.
.PHONY: test
test: build tofu sqlite3 ## Run all tests (PACKAGES=./internal/plan TESTFLAGS='-run X -v' for some)
	$(GO) test -timeout 20m $(TESTFLAGS) $(if $(filter ./...,$(PACKAGES)),$$($(GO) list ./... | grep -v -e '/test/conformance$$' -e '/test/services'),$(PACKAGES))
	$(if $(filter ./...,$(PACKAGES)),$(GO) test -C test/standin ./...)

# The servers run for the time of the tests, on ports of their own.
.PHONY: test-services
test-services: build tofu ## Run the tests that need MariaDB and PostgreSQL (as root on Debian it installs them)
	@tools/ensure-databases
	$(GO) test -timeout 20m $(TESTFLAGS) ./test/services/...

# A KUBECONFIG of the environment does not count: whoever has one set did not ask for stacks to be made there.
.PHONY: conformance
conformance: tofu ## Try what users of tofu-controller rely on (KUBECONFIG=file: on that API)
	$(GO) test -timeout 30m $(TESTFLAGS) ./test/conformance $(if $(filter command,$(origin KUBECONFIG)),-kubeconfig $(abspath $(KUBECONFIG)))

# The short form is part of "make test".
.PHONY: chaos
chaos: tofu ## Kill Yuba 200 times during 100 applies and look for losses (CHAOSFLAGS='-run X -args -seed 7')
	$(GO) test -count=1 -timeout 120m -v ./test/chaos $(or $(CHAOSFLAGS),-args -stacks 24 -kills 200 -applies 100 -fells 50 -settle 10m)

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

.PHONY: generate
generate: bin/controller-gen ## Write what is generated: deep copies, CRDs and references
	@tools/generate

.PHONY: verify
verify: bin/controller-gen ## Fail when something generated, or go.mod, is not up to date
	@tools/generate --verify
	@$(GO) mod tidy -diff >/dev/null || { printf 'go.mod or go.sum is not up to date. To write them:\n    go mod tidy\n' >&2; exit 1; }

##@ Tidy up

.PHONY: clean
clean: ## Delete bin/
	rm -rf bin

# The tools are a module of their own, so that what they need does not mix with what Yuba needs.
bin/controller-gen: tools/go.mod
	$(GO) build -C tools -trimpath -ldflags '-s -w' -o ../bin/ sigs.k8s.io/controller-tools/cmd/controller-gen

bin/golangci-lint: tools/go.mod
	@echo 'Building golangci-lint, about 2 minutes once'
	$(GO) build -C tools -trimpath -ldflags '-s -w' -o ../bin/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
