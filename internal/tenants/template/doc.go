// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package template reconciles TenantTemplates: it checks them, and reports on their tenants. The
// tenants themselves are created and changed by package registry, which reports to the template
// through [passes.Findings].
//
//   - template.go: a pass: check the template, record the status
//   - recheck.go: when an invalid template is checked again
//   - world.go: the rows and APIs that a template is checked with
//   - controller.go: events that request passes
//
// The finalizer keeps a template until its tenants are gone.
package template
