// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster tests Yuba in a real Kubernetes cluster: runs in Pods, and the death of any part.
//
// "make test-cluster" starts a node, builds images, installs the chart, and runs these tests. The
// tests need a kubeconfig with all rights, Yuba in the namespace yuba-system, and a runner image with
// a shell:
//
//	go test ./test/cluster -kubeconfig FILE
//
// Each test has namespaces of its own. Tests that kill parts of Yuba do not run in parallel with
// others.
package cluster
