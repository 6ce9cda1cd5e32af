// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package local tests examples/platform/modules with machines of namespaces: from nothing to a Kubernetes with three nodes whose
// kubeconfig arrived by the call home, and back to nothing; and from a blueprint to a platform that owns itself, in its own cluster.
// It needs root, and the programs and images that the flags name; "make test-platform" builds and runs it.
package local
