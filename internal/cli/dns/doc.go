// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dns has the commands "yuba dns …": claims of subdomains, what a name that fails over answers, and what it would
// answer while endpoints are down.
//
//   - pool and show read the API.
//   - claim and release write a SubdomainClaim, and wait for what the server makes of it.
//   - check asks a resolver for the records of a claim, from here.
//   - simulate evaluates the record here, from the API or a file: it needs no DNS server, and with a file
//     no Yuba server either.
//
// FailoverRecords and SubdomainPools are applied with kubectl or from a source.
package dns
