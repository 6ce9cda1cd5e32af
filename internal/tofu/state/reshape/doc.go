// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package reshape changes several states as one operation, which is recorded and can be undone.
//
// Nouns:
//
//   - A refactoring is one such operation on the states of stacks of one namespace. Its [Record] and
//     the states before and after it are in the blob store, below refactorings/NAMESPACE/ID/.
//   - A proposal is a refactoring that has changed nothing yet. Speculative plans read its states.
//   - A member is a state that a refactoring changes.
//   - A preview is a speculative plan of a member on its proposed state.
//
// A refactoring goes through these phases. Each is stored before its first effect.
//
//	proposed ──> locking ──> writing ──> written ──> applied
//	    ^           │            │
//	    └───────────┘            └──> reverting ──> failed
//
// In locking, nothing is written yet: a server that ended there leaves a proposal. From writing on, the
// refactoring is carried on: [Desk.Repair] writes what is missing. Only if another writer changed a
// member meanwhile, in spite of its lock, the other members get their former content again.
//
// Invariants:
//
//   - All members are locked, under the id of the refactoring, from before the first write until the
//     last member stands or is restored.
//   - A server writes only while it is in charge, which is as long as [Desk.Run] runs.
//   - A member is only written if its state is exactly the one that the proposal was made from.
//   - Either all members have their new content in the end, or all have the former one, except for one
//     that somebody else wrote, or whose former content is lost. The record names it.
//   - Lineages stay, serials grow, also on the way back. A new state gets a lineage of its own.
//   - Records have addresses, never attributes.
//   - A namespace has a limited number of proposals.
//
// The package does not make plans: its callers note what they find, and ask [Record.Judge] whether to apply.
package reshape
