// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package proctest starts the Yuba of a test, keeps what it logs, and finds and ends its processes: those that work below its data
// directory, or whose command line names it. Only these may be ended by that test.
package proctest
