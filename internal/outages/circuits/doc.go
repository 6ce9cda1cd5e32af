// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package circuits detects outages of many stacks from the results of runs, and their end from
// probes.
//
// It is pure: results and the time go in, circuits come out; no client, clock or randomness.
//
// # Terms
//
//   - A kind is what failures have in common: the provider that the diagnostic names, else the host
//     that was not reached; and the cause if recognized (unavailable, throttled, credentials,
//     denied, certificate), else the summary without names, numbers, paths and addresses. Texts
//     and steps do not count: a provider that is down reports other errors for each resource type.
//   - A circuit is one kind of failure that many stacks have or had. It concerns its members, which
//     had this failure, and all stacks that use its provider, in all namespaces or in its own.
//   - Evidence is a failure of a stack whose configuration has worked before, or one that no
//     program can cause (unavailable, throttled, certificate). All others with the same source
//     archive count once: a broken commit of a module that many stacks share is not an outage.
//
// # When a circuit opens
//
// A circuit opens if, since some moment in the past, there are Options.Stacks pieces of evidence of
// one kind and at least Options.Share of all comparable stacks (with the same provider, if known)
// failed with it. Only the last run of a stack counts. A stack that has failed for longer than
// Options.Window, or since before the circuit last closed, does not count. The circuit concerns all
// namespaces if several have failures, otherwise only that one, as with an expired credential of
// one team.
//
// Never evidence: configuration errors, limits, locks, refusals, cancellations, a missing tool and
// interrupted runs.
//
// # While it is open
//
// Members are paused, except one that is planned as a probe: the one that waited longest, then the
// cheapest. A failed probe doubles the wait, up to Options.MaxPause. Any success of a member counts
// as a probe and ends its membership. Options.Probes successes in a row, of different stacks if
// there are several, close the circuit. If most stacks that are not members succeed, the circuit
// shrinks to the namespaces with an outage, or closes. It also shrinks to the failing namespaces
// when Options.Stacks stacks elsewhere succeeded between its opening and a later failure. So one
// tenant cannot block the others for long, however many failures it causes.
//
// # After it has closed
//
// Members are retried spread over time, each at a moment that depends only on its name. The book
// keeps a closed circuit for Options.Keep, so that each of its stacks had a drift check.
//
// # Outside of this package
//
// Package decide decides how a circuit affects a stack; package controller stores circuits as
// CircuitBreaker objects. A restart loses the counts of the window; lasting failures recur.
//
// The book holds 200 circuits. Beyond that it drops the one that has been closed longest; if all
// are open, it opens no other.
package circuits
