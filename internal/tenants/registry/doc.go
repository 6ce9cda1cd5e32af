// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry reconciles TenantRegistries: rows of a database become Tenants.
//
//   - registry.go: a pass: use the last reading, decide, write Tenants, record the status
//   - reading.go: when and how rows are read, in the background; lookups.go: credentials of sources
//   - ledger.go: memory of registries between passes
//   - roll.go: wanted Tenants; carry.go: creating, changing and deleting them
//   - controller.go: events that request passes
//
// # Invariants
//
//   - Rows that could not be read change nothing. Deletions of many Tenants wait for confirmation.
//   - No pass waits for a database.
//   - A Tenant that cannot be written does not delay others.
//   - A pass that finds nothing new writes nothing.
package registry
