// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol between a server and yuba-policy, which evaluates Rego.
//
// Terms:
//
//   - A frame is a header in JSON and any number of raw parts, which are not encoded again: plans
//     have many megabytes.
//   - A call is a [Request] and its [Response]. Calls follow each other in one pair of pipes.
//
// There is no version: both sides belong to one release. The package imports little, because
// yuba-policy is a Go module of its own.
package wire
