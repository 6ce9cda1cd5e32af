// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles registries, templates and tenants: rows of a database become
// Tenants, and Tenants become objects.
//
//	setup.go      the three controllers, and what they share; wake.go  what requests their passes
//
//	registry.go   a pass over a registry: read the rows, decide, write Tenants, record
//	reading.go    when and how rows are read; ledger.go  memory of registries between passes
//	roll.go       what Tenants should be; carry.go  creating, changing and deleting them
//
//	template.go   a pass over a template: check it, record
//	recheck.go    when it is checked again; world.go  the APIs that it is checked against
//
//	tenant.go     a pass over a Tenant: gather, decide, write objects, record
//	plan.go       what its objects should be; facts.go  what they are
//	status.go     what the status says of them
//	marks.go      labels and owner references by which package engine knows whose an object is
//	inventory.go  the recorded objects, orphans among them
//	deletion.go   deleting a Tenant; keep.go  retained objects; strays.go  objects without a Tenant
//	cluster.go    the APIs that have objects; target.go  remote ones; copies.go  copies for those
//	memory.go     memory of tenants between passes; sights.go  what wakes them
//
// # Invariants
//
//   - An object is in its Tenant's inventory before it is created, and until it is known to be
//     gone. Before there is an inventory, the Tenant's spec is the inventory, and does not change.
//   - A pass that finds nothing new asks the API nothing and writes nothing: everything that it
//     looks at is watched.
//   - Rows that could not be read change nothing. Deletions of many Tenants wait for confirmation.
//   - An object that is created once is never written again; a retained one is never deleted.
//   - No pass waits for an object to be ready: another pass follows when that changes or its time
//     is up. No pass waits for a database: rows are read beside the passes.
//   - A Tenant that cannot be completed delays no other one. An object that cannot be written
//     delays only those that depend on it.
//   - Contents of Secrets are neither kept nor shown.
//
// The package does not know what databases, templates and objects mean; the packages beside it do.
package controller
