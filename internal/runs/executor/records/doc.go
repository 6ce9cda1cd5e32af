// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package records stores the data about runs that must survive the server: records, logs and plans,
// and the stacks' dependency lock files. All of it is in the blob store, so every replica of the
// server reads the same.
//
// A run's blobs are below its id. The quiet passes of a stack share one place, which each
// overwrites.
//
// The package does not know which runs are in hand: callers that remove something pass the runs in
// use.
package records
