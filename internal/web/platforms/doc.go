// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package platforms shows platforms: how far each is, and its phases with their times, what each waits for, and what a
// removal has left. It reads objects and changes nothing: plans are approved on the pages of their stacks.
//
// Invariants:
//
//   - A phase leads to its stack only if the stack exists and the person may see it.
//   - Messages of stacks, names and outputs of modules are foreign text: they are shown as text.
package platforms
