// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenant reconciles Tenants: it writes their objects, and removes them.
//
//   - tenant.go: a pass: gather, decide, write objects, record the status
//   - plan.go: what the objects should be; facts.go: what they are; status.go: what the status says
//   - inventory.go: the recorded objects, orphans among them
//   - deletion.go: removing objects; keep.go: retained ones; strays.go: objects without a Tenant
//   - copies.go: copies of our API's objects for a target
//   - memory.go: memory of tenants between passes; sights.go: which changes matter
//   - controller.go: what requests passes
//
// # Invariants
//
//   - An object is in its Tenant's inventory before it is created, and until it is known to be
//     gone. Before there is an inventory, the Tenant's spec is the inventory, and does not change.
//   - A pass without news sends no request: everything that it reads is watched.
//   - An object that is created once is never written again; a retained one is never deleted.
//   - No pass waits for an object to be ready: another pass follows when that changes or its time
//     is up. An object that cannot be written delays only those that depend on it.
//   - Contents of Secrets are neither kept nor shown.
package tenant
