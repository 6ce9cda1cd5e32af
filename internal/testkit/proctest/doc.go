// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package proctest starts the Yuba of a test, stores its log, and finds and ends its processes:
// those that work below its data directory, or whose command line names it. A test may only end
// these.
package proctest
