// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope separates objects of different owners in one namespace. Today the owners are
// tenants: a tenant's stack neither reads another tenant's Secrets nor writes its state.
//
// States, inputs and runs have a [Scope] and compare it. They do not know its meaning: only this
// package knows the label, and only internal/tenants sets it.
package scope
