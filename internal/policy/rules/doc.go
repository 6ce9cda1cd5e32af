// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules has the built-in rules of policies.
//
// Terms:
//
//   - A rule has a name and parameters. It judges one document of package facts.
//   - A check is a rule with its parameters, validated.
//   - A finding is one violation: the rule, the address and a message.
//
// Invariants:
//
//   - A check is a pure function of the document and the time. It never panics, and never changes the
//     document.
//   - A rule that cannot know objects: an unknown or sensitive value, an action or a source that it
//     does not understand, a missing lock file or configuration are findings, marked as unknown.
//   - Parameters are strict: an unknown name or a wrong type is an error that names the rule.
//   - The number of findings is bounded; the rest is counted.
//
// The registry of rules is the source of docs/reference/policy-rules.md.
package rules
