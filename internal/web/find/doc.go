// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package find lists the stacks that a person may see and a query matches, for all pages that show or
// act on many stacks.
//
// Stacks come from the watched objects, filtered by what the person may list. Terms about modules are
// questions to the server as the person; answers are used again for [remembered], because an open
// page asks them at each change.
package find
