// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope keeps apart what belongs to different owners although it lives in one namespace. Today the owners are
// tenants: a stack of one neither reads the Secrets of another nor writes its state.
//
// States, inputs and runs carry a [Scope] and compare it. They do not know what it stands for: only this package knows the
// label it is read from, and only internal/tenants gives it to objects.
package scope
