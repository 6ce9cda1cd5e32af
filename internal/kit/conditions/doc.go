// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conditions reads and writes the conditions of objects of any kind.
//
// A condition records the generation that its object had when it was set. Callers limit the length
// of messages, because each kind has its own rule.
package conditions
