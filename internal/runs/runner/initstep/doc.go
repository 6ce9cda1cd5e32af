// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package initstep makes a working directory ready for tofu. Package initflow decides what it does
// next.
//
// Init is left out if nothing has changed since the last one of the stack. Otherwise the step takes
// modules and providers from the stores of the runner, replays the init of another stack, or runs
// init.
//
// # Invariants
//
//   - A run uses the result of an earlier init only if a list that programs cannot reach says that
//     nothing has changed since. A new revision takes over providers only, and none after an init
//     that may have started programs of the stack.
//   - A replayed init comes from a directory that no other process can have written to. If the
//     first process after it fails in a way that init might have reported, init runs, and the
//     process is repeated.
//   - Modules and providers for other stacks are downloaded in a separate directory, with nothing
//     of the stack but the credentials that its scope is named by. If a stack's settings could make
//     the download run a program, or read files of the stack, init downloads for that stack alone.
//   - Everything that the stores cannot provide is left to init.
package initstep
