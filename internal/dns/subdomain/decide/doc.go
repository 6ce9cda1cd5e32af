// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to write for the claim of a subdomain. It is pure.
//
// Two claims may race for a name, of one Yuba server or of several that write to one DNS server. The DNS server knows no
// "create if absent", so a claim takes a name in three steps:
//
//  1. It writes a bid: a TXT record with a name of its own below _yuba-bid, which no other process writes.
//  2. It reads all bids first, and the registration after them.
//  3. Only if no registration and no other bid exists, it writes the registration, below _yuba, and removes its bid,
//     in one transaction.
//
// If both of two claims came to step 3, each would have read before the other wrote its bid, or after the other removed it;
// but a bid is written before the claim reads, and leaves with a registration that the other, reading it last, would have seen.
// So at most one does, however slow requests are. Of several bids, the lowest stays and the others are withdrawn: one gets on.
//
// Time only serves cleaning up: bids of servers that died are ignored after BidAge, and reservations after their end and
// Grace. Clocks may differ by less than these.
//
// Copies of one claim, such as one that "yuba move" left behind, or one of a restored backup, have its UID. Each registration has
// the identity of its write, and only the copy that made it (or found what it wants) changes the name after it, or releases it.
// So copies never alternate: all but one stop, until somebody names the write that may be replaced.
//
// Invariants:
//
//   - A bid is removed by the process that wrote it, or when it is older than BidAge.
//   - Nothing is written over the records of others: not to take a name, not to repair records, not to release them.
//   - What is removed is what was recorded as written, or is of the registration's owner.
package decide
