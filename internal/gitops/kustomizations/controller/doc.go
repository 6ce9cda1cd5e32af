// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the controller of Flux's Kustomization kind. One pass over a Kustomization is: gather the facts,
// let the package decide say what to do, build and apply what differs, and record it in the object's status.
//
//	facts.go      what the object, its source, its dependencies and what was applied are now
//	decide/       the decision, pure
//	build/        manifests from a source's tree
//	setup.go      the policy of the engine that applies objects (package engine), and what wakes passes
//	act.go        one attempt: fetch, build, apply, prune
//	health.go     whether what was applied is well
//	deletion.go   letting a deleted Kustomization go
//	access.go     on whose behalf, and on which cluster
//	memory.go     what is remembered between passes
//
// # Invariants
//
//   - The inventory in the status names an object before it is applied, and until it is known to be gone: whatever
//     stops a pass in the middle, nothing is orphaned.
//   - A pass that finds nothing new asks the API nothing: all that it looks at is watched, on our own API. What is
//     remembered is lost with the process, so the first pass after a start applies everything once.
//   - Nothing is pruned after a build or an apply that did not succeed as a whole.
//   - No pass waits for health: it is looked at again when something changes or the time is up.
//   - With a service account, everything that is asked of the API for the Kustomization's objects is asked as that account.
//   - The status is written by this controller alone.
package controller
