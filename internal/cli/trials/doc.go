// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package trials is what commands that make speculative plans share: they start many plans, a few at a
// time, show how far they are, cancel them when they are interrupted, and print equal ones together.
package trials
