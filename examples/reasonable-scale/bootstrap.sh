#!/bin/sh
# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Prints the objects that make a namespace an environment: its location, its identity, and the source of everything
# else. On a cloud, the program that creates the account would write them. Usage:
#
#     ./bootstrap.sh TENANT stage|production | yuba kubectl apply -f -
#
# CENTRAL, REGISTRY and STATES are the addresses of the central repository, the registry and the states.
# STATES_USERNAME and STATES_PASSWORD give tofu access to the states. RECEIVER_TOKEN is the secret of the Receiver.
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
# The central repository and the registry call this after a push, so that nothing waits for an interval.
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
