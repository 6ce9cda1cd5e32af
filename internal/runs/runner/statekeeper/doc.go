// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package statekeeper keeps the state during a run.
//
// A [Keeper] fetches the state from the server and passes each state that tofu writes to the spool.
// It moves aside states that earlier runs left in the working directory, and refuses an apply while
// such a state is newer than the stack's.
package statekeeper
