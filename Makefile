SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

## IMG is the operator's image for deploy.
IMG ?= memcached-operator:latest
## TIMEOUT is how long deploy, undeploy and uninstall wait, in seconds.
TIMEOUT ?= 120
## LEVEL is where e2e runs: kind, kwok or existing. These are for e2e, too, and unset by default:
## KEEP=1 or on-failure keeps a kind cluster; FEATURE is a pattern of the features to run; NODE_IMAGE is a kind cluster's own;
## E2E_CONTEXT is the context of an existing cluster.
LEVEL ?= kind
export KEEP FEATURE NODE_IMAGE E2E_CONTEXT
## FUZZTIME is how long each fuzz target runs.
FUZZTIME ?= 10s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# The race detector needs a C compiler, which is the one thing a bare machine may lack.
RACE := $(if $(shell command -v "$$(go env CC)"),-race)
JUNIT := $(CURDIR)/out/junit
GOTESTSUM := go tool -modfile=$(CURDIR)/tools/test/go.mod gotestsum --format pkgname --format-hide-empty-pkg --hide-summary skipped
CONTROLLER_GEN := go tool -modfile=tools/gen/go.mod controller-gen
GOLANGCI_LINT := go tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint
CLUSTER := go run ./harness/cmd/cluster run --crds config/crd/bases

##@ Look

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target>" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: bin/demo ## Show the operator at work on a simulated cluster, verify each step, and tear everything down.
	@exec bin/demo

.PHONY: run
run: bin/demo ## Run the operator on a simulated cluster that stays up until Ctrl-C.
	@exec bin/demo -stay

##@ Test

.PHONY: test
test: test-unit test-envtest ## Run the unit tests and the suites against a real kube-apiserver and etcd.

.PHONY: test-unit
test-unit: | out/junit ## Run the unit tests, which need no cluster.
	@echo "unit tests$(if $(RACE),, (no C compiler: the race detector is off))"
	@$(GOTESTSUM) --junitfile $(JUNIT)/unit.xml -- $(RACE) $$(go list ./... | grep -vE '/((test/envtest|test/sim|test/fixtures/play|harness/cluster|harness/cmd/cluster)(/|$$)|test/e2e$$)')
	@cd tools/deploy && $(GOTESTSUM) --junitfile $(JUNIT)/deploy.xml -- ./...

.PHONY: test-envtest
test-envtest: | out/junit ## Run the envtest suites on one control plane that all of them share.
	@echo "envtest suites$(if $(RACE),, (no C compiler: the race detector is off))"
	@JUNIT_DIR=$(JUNIT) $(CLUSTER) --level envtest -- $(GOTESTSUM) --junitfile $(JUNIT)/envtest.xml -- $(RACE) ./test/envtest/... ./test/fixtures/play

.PHONY: test-sim
test-sim: | out/junit ## Run the suites on a simulated cluster with the real controllers of Kubernetes, then the harness's own.
	@echo "suites on the simulated cluster$(if $(RACE),, (no C compiler: the race detector is off))"
	@JUNIT_DIR=$(JUNIT) $(CLUSTER) --level kwok -- $(GOTESTSUM) --junitfile $(JUNIT)/sim.xml -- $(RACE) ./test/sim/...
	@$(GOTESTSUM) --junitfile $(JUNIT)/harness.xml -- $(RACE) ./harness/cluster ./harness/cmd/cluster

.PHONY: node-image
node-image: ## Get the image of kind's nodes, building it where it cannot be pulled. CHECK=1 also tests a cluster of it.
	@go run ./harness/cmd/nodeimage
	@$(if $(CHECK),go test -tags engine -count 1 -run 'TestNodes' -v ./harness/nodeimage)

.PHONY: e2e
e2e: | out/junit ## Run the features from end to end on a new kind cluster; LEVEL=kwok simulates it, LEVEL=existing uses yours.
	@LEVEL=$(LEVEL) IMG=$(IMG) JUNIT=$(JUNIT) GOTESTSUM='$(GOTESTSUM)' hack/e2e.sh

.PHONY: images
images: ## Make the images of the end-to-end tests as archives in out/images, and print their names, references and paths.
	@go run ./hack/images -version '$(VERSION)' $(if $(filter command,$(origin IMG)),-operator '$(IMG)')

.PHONY: bench
bench: ## Measure writes, convergence, memory and start-up beside the tutorial's reconciler.
	@go run ./test/bench

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME.
	@hack/fuzz.sh $(FUZZTIME)

##@ Keep in shape

.PHONY: lint
lint: ## Lint all modules.
	@echo "linting (the first run builds the linter, which takes minutes)"
	@$(GOLANGCI_LINT) run
	@cd tools/deploy && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml

.PHONY: generate
generate: ## Generate deep copies, apply configurations, CRDs and the manager's role from the Go types and markers.
	@echo "generating code and manifests"
	@$(CONTROLLER_GEN) object applyconfiguration paths=./api/...
	@$(CONTROLLER_GEN) crd:maxDescLen=250 paths=./api/... output:crd:dir=config/crd/bases
	@$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./cmd/... paths=./controllers/... output:rbac:dir=config/rbac

.PHONY: verify
verify: generate ## Generate, tidy and format; fail when that, or anything else, leaves a file that is not committed.
	@hack/verify.sh

.PHONY: build
build: bin/manager ## Build the manager into bin/.

.PHONY: clean
clean: ## Remove what the other targets leave in the checkout.
	@echo "removing bin and out"
	@rm -rf bin out

##@ Your cluster (the current context of your kubeconfig)

.PHONY: install
install: ## Install the CRDs.
	@hack/cluster.sh install

.PHONY: uninstall
uninstall: ## Delete all custom resources, wait until they are gone, then remove the CRDs.
	@TIMEOUT=$(TIMEOUT) hack/cluster.sh uninstall

.PHONY: deploy
deploy: ## Deploy the operator with the image IMG.
	@IMG=$(IMG) TIMEOUT=$(TIMEOUT) hack/cluster.sh deploy

.PHONY: undeploy
undeploy: ## Delete all custom resources, wait until they are gone, then remove the operator and the CRDs.
	@TIMEOUT=$(TIMEOUT) hack/cluster.sh undeploy

# The go command knows best what is out of date.
.PHONY: bin/manager
bin/manager:
	@echo "building $@ $(VERSION)"
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/manager

.PHONY: bin/demo
bin/demo:
	@go build -o $@ ./hack/demo

out/junit:
	@mkdir -p $@
