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
//   - A namespace begins at most [Share] turns in places and as many aside, so its slow stores do not delay its others.
//     Turns that go aside later may double the latter, and it never has more than 2*Share together.
//   - A store is slow for a namespace whose turn with it takes longer than Quick, until one does not: what the namespace
//     asks for, or another store in the same request, may be the reason. Many namespaces may name a store. Those for which
//     it is not slow have [StoreShare] turns of their own, which the others cannot take: they begin turns only while
//     fewer than StoreShare of them have some.
//   - A store has at most [StoreMax] turns, so that one that answers nobody leaves room to others.
//   - Of requests that wait, those of namespaces with fewer turns are first, then those that asked first.
//   - While there is room aside, no turn has a place for longer than Quick: whatever stores do, and however many
//     namespaces they are in, requests for others wait no longer than that.
//   - A request that waits has no worker. As long as requests wait, one that could have a turn is queued, or a turn
//     whose end lets one begin is being taken.
package turns
