// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package turns lets requests to stores of secrets wait for each other, so that stores that do not answer delay only the
// objects that name them.
//
// Nouns:
//
//   - A turn is what a request holds while it waits for its stores.
//   - A place is where a turn counts: among the [Places], or aside. A turn that takes longer than [Quick] goes aside, and
//     gives its place to another request. A store of such a turn is slow until it answers quickly again. Turns with a
//     slow store are aside from their begin.
//
// Invariants:
//
//   - A namespace has at most [Share] turns, and a store, which many namespaces may name, at most [StoreShare].
//   - While there is room aside, no turn has a place for longer than Quick: whatever stores do, and however many
//     namespaces they are in, requests for others wait no longer than that.
//   - A request that waits has no worker. As long as requests wait, one that could have a turn is queued, or a turn
//     whose end lets one begin is being taken.
package turns
