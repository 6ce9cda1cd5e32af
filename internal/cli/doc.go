// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: a file for each command, each of which turns arguments into requests of the API and
// answers into views.
//
// Nouns:
//
//   - The app is one call of the program: its streams and the flags that all commands share.
//   - A session is the app's way into one API: typed client, content client and namespace.
//   - News is what is told while something goes on (standard error); the answer is what was asked for (standard output).
//
// Invariants:
//
//   - A command that shows or changes stacks talks to the API only, never to the server's files.
//   - Answers in json and yaml are stable; words for people are not.
//   - Colour and questions only happen on terminals.
//   - An error is told once, at the end, and decides the exit code; see "yuba help exit-codes".
package cli
