// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to change on a DNS server for a name that Yuba writes.
//
// The records of a name have an owner: a record of type TXT beside them, below _yuba, says who wrote
// them. Records without it, or with another owner, are never changed. They are not mixed with ours
// either: PowerDNS would answer with both. The registration also says which server was meant, so that whoever leaves a
// server does not remove what was since written to it by another of its names.
//
// Two copies of an object, such as one that "yuba move" left behind, or one of a restored backup, never alternate: each write has
// an identity of its own, which the registration has, and a copy whose writes do not include it writes nothing. To begin
// again, somebody names that write.
//
// Deciding is pure: the server's records in, changes out.
package decide
