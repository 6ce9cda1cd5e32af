// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ready decides from an object alone whether it is ready, so that objects that depend on it
// can be created.
//
// Nouns:
//
//   - Ready: according to its status, others can use the current generation.
//   - Failed: it will not become ready until someone changes something.
//   - A builtin kind belongs to a group that every cluster serves. This package has rules for such
//     kinds; one that reports nothing is ready once it exists.
//   - All other kinds are custom. An object is ready if its condition Ready is true. Without
//     conditions it is not ready, because its controller may not have seen it, unless the caller
//     knows that the kind has no status.
//
// Invariants:
//
//   - A status about an older generation does not count.
//   - An object that is being deleted is not ready.
//   - A stack is ready when it was applied, not when a plan is pending.
//   - Ready and Failed exclude each other. An object that is not ready has a reason and a message.
//
// The package does not know how long an object has been progressing.
package ready
