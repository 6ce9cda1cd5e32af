// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenanttest tries the way of a tenant on any database: from the INSERT of its row, over a
// stack that is applied and an application that reads the stack's outputs, to the DELETE of the
// row, after which nothing is left.
//
// The nouns:
//
//   - A home is a running Yuba and a namespace in it. It lets stacks of templates have environment that begins with
//     EnvPrefix, and finds the provider of test/provider.
//   - A table is where the rows are: what a registry says of it, and somebody who may write to it.
//
// The package starts no database and no Yuba by itself but for Launch, which does what a user does
// in a terminal.
package tenanttest
