#!/bin/sh
# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Prints what makes a namespace an environment: where it is, who it is, and from where it is to load the rest. On a cloud,
# the program that makes the account would write this. Usage:
#
#     ./bootstrap.sh TENANT stage|production | yuba kubectl apply -f -
#
# CENTRAL, REGISTRY and STATES say where the central repository, the registry and the states are; STATES_USERNAME and
# STATES_PASSWORD let tofu at the states; RECEIVER_TOKEN is what those who call the receiver know.
set -eu
tenant=$1 environment=$2
case $environment in
production) class=prod domain=$tenant.example.com ;;
*) class=non-prod domain=$environment.$tenant.example.com ;;
esac
namespace=$tenant-$environment
cat <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $namespace
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: init
  namespace: $namespace
data:
  clientId: "$tenant"
  domain: "$domain"
  environment: "$environment"
  environmentClass: "$class"
  region: "eu-central-1"
  registry: "$REGISTRY"
  registryInsecure: "${REGISTRY_INSECURE:-false}"
  states: "$STATES"
---
apiVersion: v1
kind: Secret
metadata:
  name: states
  namespace: $namespace
stringData:
  username: "$STATES_USERNAME"
  password: "$STATES_PASSWORD"
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: central
  namespace: $namespace
spec:
  interval: 5m
  url: $CENTRAL
  ref:
    branch: main
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: environment
  namespace: $namespace
spec:
  interval: 10m
  retryInterval: 1m
  sourceRef:
    kind: GitRepository
    name: central
  path: ./environments/$tenant/$environment
  targetNamespace: $namespace
  prune: true
  deletionPolicy: WaitForTermination
  postBuild:
    substituteFrom:
      - kind: ConfigMap
        name: init
---
apiVersion: v1
kind: Secret
metadata:
  name: receiver
  namespace: $namespace
stringData:
  token: "$RECEIVER_TOKEN"
---
# Whoever pushed, to the central repository or to the registry, calls this, so that nothing waits for an interval.
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata:
  name: pushed
  namespace: $namespace
spec:
  type: generic
  secretRef:
    name: receiver
  resources:
    - kind: GitRepository
      name: central
    - kind: OCIRepository
      name: "*"
      matchLabels:
        receiver: registry
YAML
