// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps SubdomainPools and SubdomainClaims.
//
// A pass over a claim gathers its pool, the rules of names, its addresses and what the server has; decides (package decide);
// writes; and records. A claim without addresses reserves its name, and gives it up when the reservation ends. A claim with
// addresses has its records written in one transaction, compared every interval, and repaired.
//
// Invariants:
//
//   - A name has one owner at most: package decide says how, also for several servers.
//   - The status names the place of a registration before anything is written there.
//   - Copies of a claim in several homes never alternate: the status has the claim's writes before they are done, the
//     registration on the server has the last one, and what another copy has written since is only replaced if somebody names it.
//   - What a process wrote for a claim that expired, or was deleted, while it wrote, it removes itself (see leftovers).
//   - A write follows the reads that allow it within maxHold, or is not sent.
//   - The pool's credentials serve names of the pool's domain only, and claims of the namespaces that the pool accepts.
//   - A claim whose addresses become unknown keeps its records: they are the last that were right.
//   - Deletion removes what the claim wrote, and nothing else. If the server does not answer, the claim stays. A pool stays
//     while claims name it, as they need its credentials.
//   - Claims of a manual pool write nothing. Of two for one name in this API, the older has it.
package controller
