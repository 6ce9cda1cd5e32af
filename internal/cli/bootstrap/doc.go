// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap has the command "yuba bootstrap": from a blueprint to a platform that runs.
//
//   - The command needs a home, that is, a server with its data directory. It uses the one that runs on the
//     directory, or runs one itself for as long as it works. What it began goes on with the next start.
//   - The blueprint is a Platform in the API. The commands write it, show its phases, and change its fields; the
//     server makes the stacks.
//   - Of all commands on one directory that run a home, one works at a time. Another one says which.
//
// questions.go asks people for a blueprint; view.go draws phases. Neither knows the API.
package bootstrap
