// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package speculative makes plans that are never applied: of a stack as it is configured now, with
// another source, with another version of a module, on the state that a refactoring proposes, or with
// planned outputs of other stacks in place of the published ones.
//
// Nouns:
//
//   - A [Request] says what differs from the stack as it is configured.
//   - [Planned] are the outputs of a stack as a speculative plan would leave them. A [StandIn] puts
//     them in place of those that the stack has published.
//   - A [Need] is an input that is unknown until another stack is applied.
//   - The [Desk] has the speculative plans of a server: it starts, awaits and forgets them.
//   - An [Answer] is what people see of one. [Fold] puts equal ones together.
//
// Invariants:
//
//   - A speculative plan takes no lock, is in no status, and cannot be applied: neither the saved
//     plan nor its records outlive the run.
//   - An unknown value is never replaced by an invented one: a stack that reads it has a need and no
//     plan. See [Resolve] for the proof that a stack does not read it.
//   - Planned outputs have sensitive values. They stay in the memory of the server, and serve only
//     the user who has started their plan. An answer has none.
//   - A source that came with a request is removed when its plan ends.
//
// The package does not know objects: its callers draft runs, and find out who reads what.
package speculative
