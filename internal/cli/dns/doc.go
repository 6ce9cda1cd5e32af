// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dns has the commands "yuba dns …": what a name that fails over answers, and what it would
// answer while endpoints are down.
//
//   - show reads the API.
//   - simulate evaluates the record here, from the API or a file: it needs no DNS server, and with a file
//     no Yuba server either.
//
// The commands change nothing: FailoverRecords are applied with kubectl or from a source.
package dns
