// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conditions reads and writes the conditions of objects of any kind.
//
// A condition carries the generation that its object had when it was set. How long a message may be is each kind's own
// rule: callers cut it before.
package conditions
