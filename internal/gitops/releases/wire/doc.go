// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is what the server and the program yuba-helm say to each other, over HTTP/2 on the
// program's standard input and output.
//
// Nouns:
//
//   - The program is the client. It asks for a [Call] with [PathNext], executes it, and returns its
//     [Result] when it asks for the next one.
//   - A call is one of Helm's operations on one release or one chart.
//   - [PathInput] is the call's large input: an archive, a tree, an index. [PathOutput] takes the
//     large output.
//   - [Cluster] is the host of all other requests: those to the API of the target cluster. The server
//     forwards them, with the credentials that only it knows.
//
// Invariants:
//
//   - Both sides belong to one release, so there is no version.
//   - Values and manifests are in bodies only: neither in arguments nor in the environment.
//   - Results never quote values.
//
// The package imports little, because the program starts often.
package wire
