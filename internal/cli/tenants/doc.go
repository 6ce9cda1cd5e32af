// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenants has the commands about tenants: list, render, diff and confirm.
//
// A tenantTry is a template that is tried with a row: neither the API nor a database changes. Values of Secrets, of sensitive
// variables, and of the extra columns of rows are hidden unless somebody asks for them.
package tenants
