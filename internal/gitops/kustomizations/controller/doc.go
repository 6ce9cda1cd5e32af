// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles Flux's kind Kustomization. A pass gathers facts, decides (package
// decide, pure), builds and applies changed objects, and records the result in the status.
//
//	facts.go      the state of the object, its source, its dependencies and its applied objects
//	setup.go      the policy of the engine that applies objects, and the triggers of passes
//	act.go        one attempt: build, apply, prune
//	health.go     the health of applied objects
//	deletion.go   the end of a deleted Kustomization
//	access.go     service accounts and remote clusters
//	memory.go     the memory between passes
//
// Invariants:
//
//   - The inventory lists an object from before its apply until it is known to be gone, so an
//     interrupted pass leaves no orphans.
//   - On our own API, a pass without news makes no request: all facts are watched. A restart loses
//     the memory, so the first pass after it applies everything once.
//   - Nothing is pruned after a failed build or apply.
//   - Passes do not wait for health: changes and the timeout trigger another pass.
//   - With a service account, all requests for the Kustomization's objects use that account.
//   - Only this controller writes the status.
package controller
