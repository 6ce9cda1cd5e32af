// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps the stacks of Platforms.
//
// A pass gathers the blueprint, its stacks and the Secrets that it names; plans the stacks that the blueprint
// means (package plan); decides what to write and remove (package decide); acts; and records the phases. The
// stacks are ordinary ones: plans, approvals, retries, drift detection and the order of deletions are theirs.
//
// Invariants:
//
//   - A stack belongs to the platform that its label yuba.dev/platform names, and has no owner reference: a
//     deleted Platform leaves its stacks, so that no mistake with an object destroys machines.
//   - Only spec.removal: Destroy and spec.decommission destroy resources. The stack is told to destroy them, then
//     deleted, so that a server that ends in between goes on with the same.
//   - A pass that finds nothing new writes nothing.
//   - An approval of a plan survives: spec.approvePlan of a stack is written only to change its mode.
//   - Tokens are made once, and kept in Secrets that only the machines' stack reads.
package controller
