// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ready tells from an object alone whether it is what its manifest says, so that objects that
// depend on it can be created.
//
// Nouns:
//
//   - Ready: according to its status, the present generation can be used by others.
//   - Failed: it will not be ready unless somebody changes something.
//   - A builtin kind is of a group that every cluster serves. Its rules are known; if it reports
//     nothing, it is ready once it exists.
//   - A custom kind is any other. It is ready if its condition Ready is true. Without conditions it is
//     not: its controller may not have seen it, unless the caller knows that it has no status.
//
// Invariants:
//
//   - A status about an older generation does not count.
//   - An object that is being deleted is not ready.
//   - A stack is ready when it was applied, not when its plan waits.
//   - Ready and Failed exclude each other. An object that is not ready has a reason and a message.
//
// The package does not know how long an object has been on its way.
package ready
