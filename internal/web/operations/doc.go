// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package operations shows how Yuba does to its operators: runs that execute and wait, the load of the
// last day, outages and what they stop, the programs and providers that runs use.
//
// All figures are read as the person. What they may not see, or what this server does not have, is a
// sentence in its place.
package operations
