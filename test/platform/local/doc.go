// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package local tests examples/platform/modules with machines of namespaces: from nothing to a Kubernetes with three nodes whose
// kubeconfig arrived by the call home, and back to nothing. It needs root and the programs that the flags name; "make
// test-platform" builds and runs it.
package local
