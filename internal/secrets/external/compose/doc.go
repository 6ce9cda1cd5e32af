// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package compose makes the content of a Secret of what stores have: it takes values apart, decodes them, renames
// keys, and renders templates.
//
// Invariants:
//
//   - It is pure: values in, values out.
//   - Errors name keys, fields and templates, and never contain a value.
//   - Templates are hostile, as in package tofu/template, which renders them within a budget.
package compose
