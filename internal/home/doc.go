// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package home is the embedded home of Yuba's API: the real Kubernetes generic control plane on an embedded etcd,
// in this process.
//
// Nouns:
//   - A ControlPlane is one running API on one data directory: etcd, the API server and the controllers that a cluster's
//     kube-controller-manager would run.
//   - Its keys are the certificate authorities, certificates and encryption keys in the data directory, made on first start.
//
// Invariants:
//   - Whoever wants something needs credentials; only health is told to everybody.
//   - Secrets are encrypted before they reach etcd, and etcd answers only to the API server's certificate.
//   - Start returns when the API is complete: kinds installed, default namespace and service account there.
//   - After a kill at any moment the next Start continues, finishing a restoration that was under way.
//
// It serves what Yuba's kinds need and no more: no pods, nodes or services. It knows nothing of stacks.
package home
