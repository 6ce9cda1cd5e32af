// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps the records of FailoverRecords on PowerDNS servers, verifies them, and shows
// what they answer.
//
// A pass gathers the spec, the server and its records; decides what to change (package decide); writes it;
// asks the server for the name as a resolver does; and records the answer. The server checks the endpoints,
// not Yuba: a failover needs nobody but the DNS server. Passes that change nothing write nothing.
//
// Invariants:
//
//   - A record is evaluated before it is written: code that fails, or takes too long, never replaces
//     code that works.
//   - Only records that this object owns are changed. The zone is read again before each write, and
//     writes to a server are one after the other, so that of two objects with one name, one wins.
//   - Copies of an object in several homes never alternate: the status has the object's writes before they are done, the
//     registration on the server has the last one, and what another copy has written since is only replaced if somebody names
//     that write.
//   - The status names each place, a zone of a server, before anything is written there, until its records are
//     removed. A record that moves is written to the new place first, and leaves the former one when that answers.
//   - Deletion removes the records of all places first. If the server does not answer, the object stays, unless its
//     credentials are gone or spec.suspend says to leave the records.
//   - The questions keep the server's checks alive: PowerDNS forgets those of names that nobody asks
//     for (lua-health-checks-expire-delay, one hour).
package controller
