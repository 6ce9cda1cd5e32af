// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli assembles the command line of yuba: the tree of commands, its help topics, and its
// reference in docs/.
//
// The commands live in one package per subject: stacks, gitops, tenants, state and server. They do
// not import each other. Below them, listing shows and changes lists of objects, blueprint creates
// objects from flags, session connects to the API, and ui talks to people and programs.
//
// Invariants:
//
//   - A command that shows or changes stacks talks to the API only, never to the server's files.
//   - Answers in JSON and YAML are stable; texts for people are not.
//   - Colours and questions only appear on terminals.
//   - An error is printed once, at the end, and decides the exit code; see "yuba help exit-codes".
package cli
