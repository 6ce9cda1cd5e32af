// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the kinds of the group operator.kubernetes-tenants.org: rows of a database become objects for each
// tenant. They have the shape that the Tenant Operator published (v1.0.0 to v1.1.8); what is more than that is marked with
// "Addition of Yuba" or, where its successor Lynq has the same field, with "Addition of Lynq".
//
// Nouns:
//
//   - Registry: where the rows are, and which of their columns mean what.
//   - Row: what the registry knows of one tenant. It is active or it is not.
//   - Template: the objects that each active row of a registry gets.
//   - Tenant: one row and one template. The server makes it; people only look at it.
//   - Resource: one object of a template or tenant, with the rules for its life. Its spec is the whole manifest.
//
// Conditions:
//
//	TenantRegistry  Ready        the rows could be read the last time
//	                Held         a deletion waits for somebody to confirm it
//	TenantTemplate  Valid        it can be rendered, and its objects depend on each other in no circle
//	                Applied      all its tenants are as it says, and ready
//	Tenant          Ready        all objects are there, and ready
//	                Progressing  objects are being written
//	                Conflicted   objects of somebody else are in the way
//	                Degraded     objects have failed or are in conflict
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields; what to do about them is decided elsewhere.
//   - What an API server lets pass can be decoded: a manifest without a kind, for instance, and every duration. One object that
//     could not would keep every reader of the list from reading any of it.
//   - Nothing in a status comes from a Secret.
//   - The comments are the text of "kubectl explain tenanttemplate.spec".
//
// +kubebuilder:object:generate=true
// +groupName=operator.kubernetes-tenants.org
package v1
