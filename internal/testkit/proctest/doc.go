// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package proctest finds the processes of a Yuba that a test has started: those that work below its data directory, or
// whose command line names it. Only these may be ended by that test.
package proctest
