// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package record computes the PowerDNS records of a name that fails over, and what an answer tells of
// its endpoints.
//
// A record is Lua code that PowerDNS runs for each query. Its functions ifurlup and ifportup check
// addresses in the background, and answer with those that were up last time. Until the first check has
// ended, all count as down.
//
// Invariants, each known from a server that answered otherwise:
//
//   - Only functions, selectors and options that PowerDNS has are used: it ignores unknown options, and
//     answers randomly for unknown selectors.
//   - ifportup gets one list of addresses: versions such as 4.7 fail with several. Its priorities are
//     chosen in the record's own code.
//   - Options that choose an answer are always written. PowerDNS' defaults are random.
//   - IPv4 and IPv6 have records of their own, A and AAAA; mixed addresses are errors in PowerDNS.
//
// The package writes nothing and asks nobody.
package record
