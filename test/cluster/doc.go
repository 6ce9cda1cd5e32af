// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster tests Yuba in a real Kubernetes cluster: runs in Pods, the death of any part,
// sources and Kustomizations of Flux, Yuba in place of Flux and of tofu-controller, and moves from and
// to one machine.
//
// "make test-cluster" starts a node, builds images, installs Flux and the chart, and runs these
// tests. They need a kubeconfig with all rights, the release yuba of charts/yuba in the namespace
// yuba-system, Flux in the namespace flux-system, a runner image with a shell, and bin/:
//
//	go test ./test/cluster -kubeconfig FILE
//
// Each test has namespaces of its own. Tests that kill or replace parts of Yuba do not run in
// parallel with others.
package cluster
