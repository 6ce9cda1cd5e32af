// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package session runs the program yuba-helm for the server.
//
// Nouns:
//
//   - A session is one start of the program, confined by yuba-sandbox: no files except itself, no
//     environment. It executes calls one after another (package wire), all for one target.
//   - A target is the API of a cluster, and as whom to use it. The program's requests to it are
//     forwarded here, so that it never has credentials.
//
// Invariants:
//
//   - The program reaches the one target and nothing else, as the one user: headers that name another
//     user are removed.
//   - A program that exceeds its memory or its CPU time is ended, without harm to others.
//   - A program ends with its session's context, and with the server.
//
// The package does not know what operations mean.
package session
