// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pod is the backend that executes runs in Pods.
//
// A Pod serves one place ([run.Place]): a namespace, a service account and a template. It executes
// one run at a time, stays for a while when it is idle, and takes the next run of its place. Its
// home is named NAMESPACE/POD.
//
// # Parts
//
//   - Scale decides which Pods to create and delete. It is pure.
//   - template.go makes a Pod from a place, problems.go explains what keeps one from working.
//   - Backend watches its Pods, carries out the decisions, and says when a Pod has ended.
//   - identity.go finds out which Pod a runner works in, by the token of its service account.
//
// # Invariants
//
//   - A run only goes to a Pod of its place that this backend created.
//   - A Pod with a run is never deleted. Whoever else deletes it gives its runner the grace period
//     to end the run.
//   - The runs of a home are lost only when the API has no such Pod any more or its container has
//     ended. An unreachable node does not prove that.
//   - No credential is in a Pod's environment or arguments: a runner identifies itself with a token
//     that the kubelet renews and that only this server accepts.
package pod
