// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenant reconciles Tenants: it writes their objects, and removes them.
//
//   - tenant.go: a pass: gather, decide, write objects, record the status
//   - plan.go: wanted objects; facts.go: existing objects; status.go: the status
//   - inventory.go: the recorded objects, orphans among them
//   - deletion.go: removing objects; keep.go: retained ones; strays.go: objects without a Tenant
//   - copies.go: copies of our API's objects for a target
//   - memory.go: memory of tenants between passes; sights.go: which changes matter
//   - controller.go: events that request passes
//
// # Invariants
//
//   - An object is in its Tenant's inventory before it is created, and until it is known to be
//     deleted. Until the first inventory is recorded, the Tenant's spec serves as the inventory and
//     does not change.
//   - A pass that finds nothing new sends no request: everything that it reads is watched.
//   - An object that is created once is never written again; a retained one is never deleted.
//   - No pass waits for readiness: another pass follows when it changes or times out. An object
//     that cannot be written delays only its dependants.
//   - Contents of Secrets are neither kept nor shown.
package tenant
