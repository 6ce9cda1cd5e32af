// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenanttest runs the life of a tenant on any database: from the INSERT of its row, over a
// stack and an application that reads its outputs, to the DELETE of the row and all its objects.
//
// Terms:
//
//   - A home is a running Yuba and a namespace. It passes environment that begins with EnvPrefix to
//     stacks of templates, and has the provider of test/provider.
//   - A table contains the rows: the registry's source, and a function that writes.
//
// Only Launch starts a Yuba, as a user does in a terminal; the package starts no database.
package tenanttest
