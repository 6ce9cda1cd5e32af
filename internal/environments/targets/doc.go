// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package targets knows where environments run: six presets with the providers and versions that a program
// for them needs, what must be there first, who the program is, and which variables they bring.
//
// Nouns:
//
//   - A target is a preset. presets.yaml has them, as data.
//   - A prerequisite is something that must be there before an apply: a program, credentials, an API that
//     is enabled, a right, a quota. It has a question and a remedy.
//   - A question is a command of the cloud's own program, which reads and changes nothing.
//   - Access is what a provider reads of the person's environment and home directory.
//
// Invariants:
//
//   - A question that could not be asked is neither met nor unmet: it is unknown, with the reason.
//   - Values of a program's variables go into commands only if they cannot be taken for an option, and
//     never through a shell.
package targets
