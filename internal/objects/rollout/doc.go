// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which of many objects get a change of the object that they are made from.
//
// Terms:
//
//   - The original is a template or definition; its items are made from it: tenants, instances.
//   - An item is on its way from the moment it gets a change until it is ready.
//   - Canaries get a change first.
//
// [Decide] is pure: facts in, one decision out.
//
// Laws, tested on random facts:
//
//   - A change never has more items on their way than MaxSkew. It only reaches the canaries until
//     all of them are ready, and no further item after one has failed, even if the server stops at
//     any time.
//   - If every item becomes ready in time, the rollout completes.
package rollout
