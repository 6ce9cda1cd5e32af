// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package home is the embedded home of Yuba's API: the generic control plane of Kubernetes on an
// embedded etcd, in this process.
//
// Nouns:
//   - A ControlPlane is one running API on one data directory: etcd, the API server, and the
//     controllers that kube-controller-manager runs in a cluster.
//   - Its keys are the certificate authorities, certificates and encryption keys in the data
//     directory. The first start creates them.
//
// Invariants:
//   - Every request except one for health needs credentials.
//   - Secrets are encrypted before they reach etcd, and etcd accepts only the API server's
//     certificate.
//   - Start returns when the API is complete: kinds, default namespace and default service account
//     exist.
//   - After a kill at any moment, the next Start continues, including a restore that was
//     interrupted.
//
// The API serves only what Yuba's kinds need: no pods, nodes or services. The package does not know
// stacks.
package home
