// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package node tests the components of examples/platform/modules on a real one-node Kubernetes: Flux's own controllers, which follow a
// git repository; Vault, whose keys only offline recipients can read; and Yuba itself, to which a Pod brings the kubeconfig of a
// new cluster through the Service of the chart. Vault is the program of test/vault: Vault's own core and API. It also applies the
// environment of examples/environments that is made for a Kubernetes.
//
// It needs root, no other node on this machine, and the programs and images that the flags name; "make test-platform" builds and
// runs it.
package node
