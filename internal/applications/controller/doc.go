// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller serves the kinds that ApplicationDefinitions declare, and makes of each instance
// the object of its backend.
//
//   - applications.go: what both controllers share; setup.go: events that request passes
//   - define.go: a pass over a definition: check it, serve its kind, follow its instances; settle.go: a
//     kind that is young; program.go: whether it fits a program that is elsewhere; standing.go: its status
//   - accepted.go: whether a kind has an unfinished rollout; wave.go: that rollout in memory; roll.go: a pass
//     over it: decide who has a turn, record the progress, end it
//   - instance.go: a pass over an instance: gather, decide, act; facts.go: what is known of its object
//   - tenants.go: what is known of the namespaces of tenants; tenantpass.go: what a tenant
//     asks for and gets; tenantwrite.go: its objects
//   - part.go: the part of an instance in the rollout; stamp.go: what its object says about that
//   - status.go: the status of an instance; outputs.go: its outputs
//   - book.go: the kinds in force; ownership.go: whose an object is
//   - approve.go: plans of instances, for their users
//
// # Terms
//
//   - A kind is in force as its CustomResourceDefinition says. Its definition may have a problem: then
//     instances stay as they are, are still followed, and can be deleted.
//   - A sight is what memory has of an instance.
//   - A rollout brings an accepted change of a definition to its instances (package rollout). Its base and
//     target are with the kind (package revisions). A wave is what memory has of it.
//   - A stamp is on the object of an instance: from which revision of the definition it was written, and
//     since when. It changes together with the object, so it is true after the server ended at any moment.
//
// # Invariants
//
//   - One informer follows all instances of a kind. Passes read memory, and list nothing.
//   - A pass that finds nothing new writes nothing, also after a restart.
//   - A rollout decides only when passes have found all instances, for exactly its base and target. A turn
//     that was given counts as a change on its way, until a pass has seen the object.
//   - An instance that has the target keeps it. One without its turn follows the revision of its stamp.
//   - A definition that has instances is kept, and so is its kind: the API would delete them with it.
//   - A change that living instances do not fit is refused, and names them.
//   - An instance has the finalizer before its object is created, and until that is gone.
//   - One pass over a tenant at a time: what one of them is granted, another one cannot have.
//   - Statuses show no output that is not allow-listed, or that is sensitive or may contain a secret.
package controller
