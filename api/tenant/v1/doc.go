// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the kinds of the group operator.kubernetes-tenants.org, which turn rows into
// objects for each tenant. They match Tenant Operator v1.0.0 to v1.1.8. Comments mark further
// fields with "Addition of Yuba", or "Addition of Lynq" where its successor has the same.
//
// Terms:
//
//   - Registry: where the rows are, and the meaning of their columns.
//   - Row: a tenant's values in the registry; active or inactive.
//   - Template: the objects that each active row gets.
//   - Tenant: one row and one template. The server creates it; people only read it.
//   - Resource: one object of a template or tenant, with its lifecycle rules and whole manifest.
//
// Conditions:
//
//	TenantRegistry  Ready        the last reading of the rows succeeded
//	                Held         a deletion waits for confirmation
//	TenantTemplate  Valid        it renders, and its dependencies have no cycle
//	                Applied      all tenants match it and are ready
//	Tenant          Ready        all objects exist and are ready
//	                Progressing  objects are being written
//	                Conflicted   another owner's objects are in conflict
//	                Degraded     objects have failed or are in conflict
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields.
//   - Everything that an API server accepts can be decoded, even a manifest without a kind or any
//     duration: one object that cannot would fail every list request.
//   - Nothing in a status comes from a Secret.
//   - The comments are the text of "kubectl explain tenanttemplate.spec".
//
// +kubebuilder:object:generate=true
// +groupName=operator.kubernetes-tenants.org
package v1
