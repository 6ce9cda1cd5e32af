# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# All tasks of this repository. They need Go 1.26, git and make, and build everything else from the Go module proxy into
# bin/. "make" lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO      ?= go

# Kubernetes takes minutes to compile, so all builds use the same flags and share one build cache: no C, for static programs;
# no gRPC client for Google's storage, which nothing uses and which takes 24 MB; and -trimpath, as for releases. Use the same
# flags for your own commands:
#     go env -w CGO_ENABLED=0 GOFLAGS='-trimpath -tags=disable_grpc_modules'
TAGS = disable_grpc_modules
export CGO_ENABLED = 0
export GOFLAGS    := $(strip $(GOFLAGS) -trimpath -tags=$(TAGS))
# The compiler spends a fifth of its time on garbage collection, which a short process does not need. Tests use the default.
# "make lint" vets all modules, so "go test" need not vet each package again.
BUILD = env GOGC=400 $(GO) build
TEST  = env GOGC=400 $(GO) test -vet=off -exec 'env -u GOGC'

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# "kubectl version" shows the version of Kubernetes' packages that the linker sets.
KUBERNETES = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2 }' go.mod)
LDFLAGS  = -s -w -X github.com/yuba-dev/yuba/internal/kit/version.Version=$(VERSION) \
	-X k8s.io/component-base/version.gitVersion=$(KUBERNETES) -X k8s.io/component-base/version.gitCommit= \
	-X k8s.io/component-base/version.gitTreeState=clean
# The packages for "make test" and "make lint", and more flags for "go test".
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
	$(BUILD) -C cmd/yuba-policy -ldflags '$(LDFLAGS)' -o ../../bin/ .
	$(BUILD) -C cmd/yuba-helm -ldflags '$(LDFLAGS)' -o ../../bin/ .

.PHONY: tofu
tofu: ## Build bin/tofu, unless it is there or a suitable tofu is on PATH (2 minutes once)
	@BUILD='$(BUILD)' tools/ensure-tofu

.PHONY: providers
providers: ## Build the providers of examples/providers into bin/providers (4 minutes once)
	@GO='$(GO)' BUILD='$(BUILD)' tools/ensure-providers

# The part of sqlite3 that the demo and the documentation need, so that it need not be installed.
.PHONY: sqlite3
sqlite3: ## Build bin/sqlite3, which runs SQL on a SQLite file
	$(BUILD) -o bin/sqlite3 ./test/sqlite3

# In parallel: linking uses one core.
.PHONY: demo
demo: ## Start Yuba and run the quickstart; ONCE=1 stops after the tour
	@$(MAKE) --no-print-directory -j3 build tofu sqlite3
	@ONCE='$(ONCE)' ./examples/quickstart/demo.sh

# The platforms of a release. The environment has the signing key ($YUBA_SIGNING_KEY).
PLATFORMS ?= linux/amd64,linux/arm64
RELEASE = GO='$(GO)' VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' TAGS='$(TAGS)' LDFLAGS='$(LDFLAGS)'

.PHONY: release
release: build ## Write a release into dist/ (6 minutes for each platform once; PLATFORMS=linux/amd64)
	@$(RELEASE) tools/make-release dist

.PHONY: release-check
release-check: build ## Build this platform's release twice, in two directories, and compare the bytes
	@$(RELEASE) tools/make-release --check

# The images' names begin with IMAGE_REPOSITORY. SNAPSHOT=20261101T000000Z takes Debian's packages of that time.
IMAGE_REPOSITORY ?= ghcr.io/yuba-dev
IMAGE = GO='$(GO)' VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' TAGS='$(TAGS)' LDFLAGS='$(LDFLAGS)' \
	IMAGE_REPOSITORY='$(IMAGE_REPOSITORY)' SNAPSHOT='$(SNAPSHOT)'

.PHONY: image
image: ## Build container images into dist/images (on Debian; 8 minutes for each platform once; PLATFORMS=linux/amd64)
	@$(IMAGE) tools/make-image

.PHONY: image-check
image-check: ## Build this platform's images twice, in two directories, and compare the digests
	@$(IMAGE) tools/make-image --check

.PHONY: image-load
image-load: ## Import the images into containerd, by default that of "make node-up" (CONTAINERD=SOCKET)
	@tools/make-image --load '$(CONTAINERD)'

.PHONY: image-push
image-push: ## Push the images to the repository of their names, or to REGISTRY=registry.example.com/yuba
	@$(GO) run -C tools/image . push -to '$(REGISTRY)'

# Versions of charts must be semantic ones.
CHART_VERSION = $(or $(shell echo '$(VERSION)' | sed -n 's/^v\([0-9]*\.[0-9]*\.[0-9]*[-+.0-9A-Za-z]*\)$$/\1/p'),0.0.0-g$(VERSION))

.PHONY: chart
chart: bin/helm ## Package the Helm chart into dist/
	@mkdir -p dist
	bin/helm lint --strict charts/yuba
	bin/helm package charts/yuba --destination dist --version '$(CHART_VERSION)' --app-version '$(VERSION)'

.PHONY: helm
helm: bin/helm ## Build bin/helm, which installs the chart (3 minutes once)

# Links are relative: any web server can serve the files, and browsers can open them without one.
SITE ?= dist/site

.PHONY: site
site: ## Write the documentation as a site of static files, with search, into dist/site (SITE=DIR)
	@$(GO) run ./internal/web/docsite/write docs '$(SITE)' '$(VERSION)'
	@printf 'The site begins at $(SITE)/index.html\n'

##@ Check

# $(call packages,KIND,MORE) sets packages to $(PACKAGES), or without them to MORE and those that tools/test-packages lists.
packages = $(if $(filter ./...,$(PACKAGES)),packages=$$(GO='$(GO)' tools/test-packages $(1)) && packages="$(2) $$packages",packages='$(PACKAGES)')

# The provider of these tests is a separate module, as providers are. test/e2e waits more than it computes and takes longest,
# so it begins first, beside the others: one more than there are cores.
.PHONY: test
test: build tofu sqlite3 bin/versitygw bin/provider-aws ## Run all tests (PACKAGES=./internal/tofu/plan TESTFLAGS='-run X -v' for some)
	$(if $(filter ./...,$(PACKAGES)),cd test/standin && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd cmd/yuba-policy && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd cmd/yuba-helm && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd tools/release && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd tools/image && $(TEST) ./...)
	$(if $(filter ./...,$(PACKAGES)),cd test/chart && $(TEST) -count=1 ./...)
	$(call packages,test,-p $$(($$(nproc) + 1)) ./test/e2e) && $(TEST) -timeout 60m $(TESTFLAGS) $$packages

# The race detector needs a C compiler. Packages that link Kubernetes or the clouds' SDKs take hours with it, so CI only runs
# the others. It makes code about ten times slower, so tests of time limits and sizes only run in "make test", and so does the one that makes passes
# beside a controller's own, which the controller never does.
RACEFLAGS = -race -short -skip '^(TestNothingMakesMaskingSlow|TestHostileExpressions.*|TestAnEvaluationEndsWithItsContext|TestAPlanOf64MiBGoesThrough|TestCertificatesRenewWithoutARestart|TestAPassThatFindsNothingNewAsksNothing)$$'

.PHONY: race-light
race-light: build tofu ## Run the tests that link neither Kubernetes nor the clouds' SDKs with the race detector
	$(call packages,light,-p $$(($$(nproc) + 1))) && CGO_ENABLED=1 $(TEST) $(RACEFLAGS) -timeout 30m $(TESTFLAGS) $$packages

.PHONY: race
race: race-light ## Run all tests of packages that need no Vault with the race detector (hours)
	packages=$$(GO='$(GO)' tools/test-packages heavy) && CGO_ENABLED=1 $(TEST) $(RACEFLAGS) -timeout 120m $(TESTFLAGS) $$packages

# The tests start and stop the servers, on free ports.
.PHONY: test-services
test-services: build tofu bin/vault ## Run the tests that need MariaDB, PostgreSQL, PowerDNS and Vault (as root on Debian it installs them)
	@tools/ensure-databases
	$(call packages,services) && $(TEST) -timeout 20m $(TESTFLAGS) $$packages

.PHONY: backends
backends: bin/versitygw bin/fake-gcs-server ## Install the servers of the tests of state backends (npm installs two of them)
	@tools/ensure-backends

.PHONY: test-backends
test-backends: build tofu backends ## Test states in S3 with a lock table, GCS, Azure, Kubernetes, cloud and remote, on servers on this machine
	$(TEST) -timeout 20m $(TESTFLAGS) ./test/backends

# The machines are namespaces of the kernel. The test ends them, also when it fails.
.PHONY: test-platform
test-platform: build tofu providers bin/kube-node bin/local-machines bin/provider-machines bin/helm bin/vault bin/source-controller ## Make three machines, a Kubernetes and a platform that owns itself with the modules of a platform, and use each component (as root on Debian)
	@tools/ensure-node
	@GO='$(GO)' BUILD='$(BUILD)' tools/ensure-providers environments
	@$(MAKE) --no-print-directory image PLATFORMS="linux/$$($(GO) env GOARCH)" VERSION=v0.0.0-test
	$(TEST) -count=1 -timeout 30m $(TESTFLAGS) ./test/platform/local -kube-node '$(CURDIR)/bin/kube-node' -machines '$(CURDIR)/bin/local-machines' -providers '$(CURDIR)/bin/providers' -images '$(CURDIR)/dist/images'
	$(TEST) -count=1 -timeout 30m $(TESTFLAGS) ./test/platform/node -kube-node '$(CURDIR)/bin/kube-node' -providers '$(CURDIR)/bin/providers' -images '$(CURDIR)/dist/images'

.PHONY: test-forges
test-forges: build tofu bin/gitea ## Run the tests of pull requests with a real Gitea
	$(TEST) -timeout 20m $(TESTFLAGS) ./test/forges

# The tests write the pictures of the docs with "make screenshots".
.PHONY: test-web
test-web: tofu ## Test the web page in Chromium (as root on Debian it installs it)
	@tools/ensure-browser
	@tools/ensure-axe
	$(TEST) -timeout 20m $(TESTFLAGS) ./test/web

.PHONY: screenshots
screenshots: tofu ## Write the pictures of the web page that docs and README show
	@mkdir -p docs/pictures
	@tools/ensure-browser
	@tools/ensure-axe
	$(TEST) -count=1 -timeout 20m ./test/web -run 'TestEveryPage$$' -screenshots $(abspath docs/pictures)

# The node, the images and the release of the chart are left running for the next tests: "make node-down" ends them.
.PHONY: test-cluster
test-cluster: build bin/kube-node bin/helm bin/versitygw bin/source-controller ## Test runs in Pods, on a real one-node Kubernetes (as root on Debian; CLUSTERFLAGS='-run X')
	@NODE='$(NODE)' tools/cluster-up
	$(TEST) -count=1 -timeout 30m $(TESTFLAGS) ./test/cluster -kubeconfig $(NODE)/admin.kubeconfig $(CLUSTERFLAGS)

# $KUBECONFIG of the environment is ignored: the suite must not create stacks there unasked.
.PHONY: conformance
conformance: tofu ## Check compatibility with tofu-controller (KUBECONFIG=file: on that API, SERVE=address that it reaches)
	$(TEST) -timeout 30m $(TESTFLAGS) ./test/conformance $(if $(filter command,$(origin KUBECONFIG)),-kubeconfig $(abspath $(KUBECONFIG)) $(if $(SERVE),-serve $(SERVE)))

# In CI: without Flux, whose build takes minutes, and without the tests that take longest.
.PHONY: test-cluster-short
test-cluster-short: build bin/kube-node bin/helm bin/versitygw ## The most important third of the tests of "make test-cluster"
	@NODE='$(NODE)' tools/cluster-up --without-flux
	$(TEST) -count=1 -timeout 20m $(TESTFLAGS) ./test/cluster -kubeconfig $(NODE)/admin.kubeconfig \
		-skip 'OfFlux$$|^Test(YubaReplaces|AnExternalArtifact|Examples|AQuota|TheChartTakesOver|SomeNamespaces|ARunGoesOnWithoutThe|APodThatHangs|ALongHistory|AReleaseInTheCluster)'

# The suite plays Flux's controllers, so they rest meanwhile.
.PHONY: conformance-cluster
conformance-cluster: tofu ## Check compatibility with tofu-controller on the node of "make test-cluster", with runs in Pods
	@bin/yuba kubectl --kubeconfig $(NODE)/admin.kubeconfig -n flux-system scale deployment source-controller kustomize-controller --replicas=0 2>/dev/null || true
	$(TEST) -timeout 30m -parallel 6 $(TESTFLAGS) ./test/conformance -kubeconfig $(abspath $(NODE))/admin.kubeconfig -serve 10.97.0.1:0

# The short form is part of "make test".
.PHONY: chaos
chaos: tofu ## Kill Yuba, cut the power and damage files 350 times, and look for losses (CHAOSFLAGS='-run X -args -seed 7')
	$(TEST) -count=1 -timeout 120m -v ./test/chaos $(or $(CHAOSFLAGS),-args -stacks 24 -kills 200 -applies 100 -fells 50 -cuts 50 -damages 50 -settle 10m)
	$(if $(CHAOSFLAGS),,$(TEST) -count=1 -timeout 60m -v ./test/e2e -run '^(TestKilledBootstrapsGoOn|TestMoveThatIsKilledAnywhereContinues)$$' -args -exhaustively)

# The short form is part of "make test".
.PHONY: bad-input
bad-input: tofu ## Try hundreds of bad stacks and 1000 damaged programs (BADFLAGS='-seed 7 -mutants 5000')
	$(TEST) -count=1 -timeout 120m -v ./test/badinput $(or $(BADFLAGS),-mutants 1000)

.PHONY: bench
bench: build tofu ## Measure what Yuba costs compared with plain tofu (BENCHFLAGS='-json' or '-only idle')
	$(GO) run ./test/bench $(BENCHFLAGS)

# The size of the fleet, the measured rows, and the number of trials of comparisons with plain tofu.
SIZE   ?= 1000
ROWS   ?= fleet
TRIALS ?= 3

.PHONY: bench-fleet
bench-fleet: build tofu ## Measure a fleet of stacks compared with plain tofu (SIZE=100 ROWS=fleet-apply TRIALS=1 BENCHFLAGS=-markdown)
	$(GO) run ./test/bench -only '$(ROWS)' -fleet $(SIZE) -n $(TRIALS) $(BENCHFLAGS)

.PHONY: bench-forges
bench-forges: build tofu bin/gitea ## Measure pull requests at a real Gitea compared with plain tofu (about 3 minutes)
	$(GO) test -vet=off -count=1 -timeout 20m -run '^$$' -bench PullRequests -benchtime 1x -v ./test/forges

# Modules of their own, which golangci-lint does not visit.
MODULES = test/standin test/oidc tools/release cmd/yuba-policy cmd/yuba-helm

.PHONY: lint
lint: bin/golangci-lint ## Check the code against .golangci.yml
	bin/golangci-lint run $(PACKAGES)
	$(if $(filter ./...,$(PACKAGES)),for module in $(MODULES); do (cd $$module && $(GO) vet ./...) || exit 1; done)

# Not part of CI, which only reaches the module proxy: this needs vuln.go.dev, or a copy (GOVULNDB=file:///DIR).
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what Yuba calls (needs vuln.go.dev)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) $(PACKAGES)

.PHONY: generate
generate: bin/controller-gen ## Generate deep copies, CRDs and references
	@tools/generate

.PHONY: verify
verify: bin/controller-gen ## Check that generated files and go.mod are up to date
	@tools/generate --verify
	@$(GO) -C cmd/yuba-policy mod tidy -diff >/dev/null || { printf 'go.mod or go.sum of cmd/yuba-policy is not up to date. To write them:\n    go -C cmd/yuba-policy mod tidy\n' >&2; exit 1; }
	@$(GO) -C cmd/yuba-helm mod tidy -diff >/dev/null || { printf 'go.mod or go.sum of cmd/yuba-helm is not up to date. To write them:\n    go -C cmd/yuba-helm mod tidy\n' >&2; exit 1; }
	@$(GO) mod tidy -diff >/dev/null || { printf 'go.mod or go.sum is not up to date. To write them:\n    go mod tidy\n' >&2; exit 1; }

##@ A Kubernetes node

# NODE is the node's directory.
NODE ?= /tmp/yuba-node
CONTAINERD ?= $(NODE)/containerd.sock

.PHONY: node-up
node-up: bin/kube-node ## Start a real one-node Kubernetes on this machine (as root on Debian; 5 minutes to build once)
	@tools/ensure-node
	@bin/kube-node up $(NODE)
	@printf 'The node is Ready. To use it:\n    export KUBECONFIG=$(NODE)/admin.kubeconfig\n'

.PHONY: node-down
node-down: bin/kube-node ## Stop the node and remove its Pods and network
	@NODE='$(NODE)' tools/cluster-up --down
	@bin/kube-node down $(NODE)

##@ Tidy up

.PHONY: clean
clean: ## Delete bin/ and dist/
	rm -rf bin dist

# The tools are a separate module, so that their dependencies do not mix with Yuba's.
bin/controller-gen: tools/go.mod
	$(BUILD) -C tools -ldflags '-s -w' -o ../bin/ sigs.k8s.io/controller-tools/cmd/controller-gen

bin/kube-node: $(wildcard tools/node/*.go tools/node/files/*) tools/node/go.mod
	$(BUILD) -C tools/node -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)' -o ../../bin/kube-node .

# The AWS provider with two of its services, for the tests of modules/ (3 minutes once).
PROVIDER_AWS = bin/provider-aws/registry.opentofu.org/hashicorp/aws/6.47.1/$(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)/terraform-provider-aws_v6.47.1
bin/provider-aws: tools/providers/aws/main.go
	$(GO) run -C tools/providers/aws . -o '$(CURDIR)/$(PROVIDER_AWS)'
	@touch bin/provider-aws

bin/local-machines: $(wildcard test/machines/*.go)
	$(BUILD) -o bin/local-machines ./test/machines

# In the mirror of "make providers".
PROVIDER_MACHINES = bin/providers/registry.opentofu.org/yuba-dev/machines/0.1.0/$(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)
.PHONY: bin/provider-machines
bin/provider-machines:
	@mkdir -p $(PROVIDER_MACHINES)
	$(BUILD) -C test/machines/provider -ldflags '-s -w' -o '$(CURDIR)/$(PROVIDER_MACHINES)/terraform-provider-machines_v0.1.0' .

# Vault's core and API with the plugins that tests need (4 minutes once).
bin/vault: test/vault/go.mod $(wildcard test/vault/*.go)
	$(BUILD) -C test/vault -ldflags '-s -w' -o ../../bin/vault .

# Gitea with its templates and options, for the tests of pull requests (1150 packages once).
bin/gitea: test/gitea/go.mod $(wildcard test/gitea/*.go)
	rm -rf bin/gitea-files && mkdir -p bin/gitea-files
	$(GO) mod download -C test/gitea code.gitea.io/gitea
	files=$$($(GO) list -C test/gitea -m -f '{{.Dir}}' code.gitea.io/gitea) && cp -r $$files/options $$files/templates $$files/public bin/gitea-files/
	chmod -R u+w bin/gitea-files
	$(BUILD) -C test/gitea -ldflags '-s -w' -o ../../bin/gitea .

bin/versitygw: test/s3/go.mod
	$(BUILD) -C test/s3 -ldflags '-s -w' -o ../../bin/ github.com/versity/versitygw/cmd/versitygw

bin/fake-gcs-server: test/gcs/go.mod
	$(BUILD) -C test/gcs -ldflags '-s -w' -o ../../bin/ github.com/fsouza/fake-gcs-server

# Flux: kustomize-controller, too.
bin/source-controller: test/flux/go.mod
	$(BUILD) -C test/flux -ldflags '-s -w' -o ../../bin/ github.com/fluxcd/source-controller github.com/fluxcd/kustomize-controller

bin/helm: test/chart/go.mod
	$(BUILD) -C test/chart -ldflags '-s -w' -o ../../bin/ helm.sh/helm/v4/cmd/helm

bin/golangci-lint: tools/go.mod
	@echo 'Building golangci-lint, about 2 minutes once'
	$(BUILD) -C tools -ldflags '-s -w' -o ../bin/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
