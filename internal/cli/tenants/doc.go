// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenants has the commands about tenants: list, render, diff and confirm.
//
// A tenantTry tries a template with a row, and changes neither the API nor a database. Values of
// Secrets, of sensitive variables, and of extra columns of rows are hidden unless they are
// requested.
package tenants
