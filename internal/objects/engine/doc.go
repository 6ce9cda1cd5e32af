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
// A pass of a controller is: make the manifests, record them in the inventory, write, remove what
// is left over, record again.
//
//   - To have manifests applied as a whole, call [Policy.Prepare] and [Engine.Apply]. Labels name
//     the owner, people may annotate objects, and only [Owners] and [Inventory] are needed.
//   - To write objects one by one, each in its own way, implement [Ownership] and call
//     [Engine.Write].
//
// Follow the objects with a watch (package owned), and return early where [owned.Watch.AsLeft] says
// that nobody has changed them.
//
// # Invariants
//
//   - A batch is tried (a dry run) before any existing object is changed, and new objects are
//     created before that: if the API refuses an object of a stage, the existing ones stay as they
//     are. Definitions and namespaces are a stage before all others.
//   - An object that is as it was left costs no request.
//   - An object of another living owner is not changed and not deleted without force.
//   - An approval of a plan survives the apply of its stack.
//   - Each stage waits at most 30 seconds for the API to list its kinds (see [owned.Watch.Follow]),
//     and 30 more to serve a kind that was just defined. Other waits take seconds.
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
