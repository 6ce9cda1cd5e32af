// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps registries, templates and tenants: rows of a database become Tenants, and Tenants become objects.
//
//	setup.go      the three controllers, and what they share; wake.go  what calls for their passes
//	registry.go   a pass over a registry: read the rows, decide, write Tenants, record
//	reading.go    when and how rows are read; ledger.go  what is remembered of registries between passes
//	roll.go       what Tenants should be; carry.go  making, changing and deleting them
//	template.go   a pass over a template: check it, record; recheck.go  when again; world.go  what it is checked against
//	tenant.go     a pass over a Tenant: gather, decide, write objects, record
//	plan.go       what a Tenant's objects should be
//	facts.go      what its objects are; status.go  what the status says of them
//	marks.go      whose an object is, as it says itself: what the engine (objects/engine) has to know to write it
//	inventory.go  what a Tenant has made, orphans among it
//	deletion.go   letting a deleted Tenant go; keep.go  what stays then; strays.go  what is left when nobody waited for that
//	cluster.go    the APIs that objects are at; target.go the one that is not ours; copies.go what objects there need of ours
//	memory.go     what is remembered between passes
//
// # Invariants
//
//   - An object stands in its Tenant's inventory before it is made, and until it is known to be gone. Before there is an inventory,
//     the Tenant's spec is it, and does not change.
//   - A pass that finds nothing new asks the API nothing and writes nothing: all that it looks at is watched.
//   - Rows that could not be read change nothing. Deletions of many Tenants wait for somebody to confirm them.
//   - What is made once is never written again; what is to stay is never deleted.
//   - No pass waits for an object to be ready: it is looked at again when that changes or its time is up. No pass waits for a
//     database: rows are read beside the passes.
//   - A Tenant that cannot be brought about keeps no other one waiting, and an object none but those that need it.
//   - Contents of Secrets are neither kept nor told.
//
// It knows nothing of what databases, templates and objects mean; that is for the packages beside it.
package controller
