// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package records stores what must survive the server about runs: their records, logs and plans,
// and the stacks' dependency lock files. All of it is in the blob store, so every replica of the
// server reads the same.
//
// A run's blobs are below its id. Quiet passes share one place per stack, which each of them
// overwrites.
//
// The package does not know which runs are in hand: callers that remove something say which runs
// are in use.
package records
