// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine writes the objects that an owner keeps in an API, and removes them. Kustomizations
// and Tenants are owners; each kind of owner is a policy over the same engine.
//
// The nouns:
//
//   - An owner is an object that owns others. Its kind has a [Policy]: how its objects are marked,
//     and under which field manager they are written.
//   - An [Engine] serves all owners of a kind. It knows which of them has claimed which object
//     (package claims).
//   - A [Cluster] is an API, and the rights with which objects are written there.
//   - A batch is a list of objects of one owner that succeed or fail together: [Engine.Apply] and
//     [Engine.Delete]. The engine orders them by their kinds.
//   - A write is about one object: [Engine.Write] and [Engine.Remove]. The caller decides when its
//     turn is.
//
// # A controller over the engine
//
// A controller's reconciliation makes the manifests, records them in the inventory, writes the
// objects, removes stale ones, and records the inventory again.
//
//   - To apply manifests as a whole, call [Policy.Prepare] and [Engine.Apply]. Labels name the
//     owner, people may annotate objects, and the caller only implements [Owners].
//   - To write objects one by one, each in its own way, implement [Ownership] and call
//     [Engine.Write].
//
// Follow the objects with a watch (package owned), and return early if [owned.Watch.AsLeft] reports
// that they have not changed.
//
// # Invariants
//
//   - A batch is tried (a dry run) before any existing object is changed, and new objects are
//     created before that: if the API refuses an object of a stage, the existing ones stay as they
//     are. Definitions and namespaces are a stage before all others.
//   - An object that has not changed since the last write costs no request.
//   - Without force, an object of another existing owner is neither changed nor deleted.
//   - An approval of a plan survives the apply of its stack.
//   - No wait takes more than some seconds, except until the API serves a kind that was just
//     defined (30 seconds).
//   - Errors quote no values of Secrets.
//
// # Where the two ways differ
//
// A batch takes unmarked objects, and fields from other field managers, as Flux does. A write takes
// them only by force: they may have been there before the tenant, and would be deleted with it. A
// batch recreates objects with immutable fields by force; a write never does. A batch deletes the
// objects that carry the owner's labels; a write may also release an object and keep it.
//
// Claims, clusters and errors are shared. The writes themselves are not: a batch follows Flux in every
// detail, a write follows the strategy of its resource.
//
// The package does not know health and statuses. It never writes an inventory.
package engine
