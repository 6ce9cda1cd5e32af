// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package book sees from how runs end that many stacks suffer from one outage, and from how probes end that it is over.
//
// It is pure: ends of runs and the time go in, circuits come out. There is no client, clock, goroutine or randomness here.
//
// # Words
//
//   - A kind is what failures have in common: the provider that the diagnostic is from, else the host that was not reached;
//     and the cause where it is recognised (unavailable, throttled, credentials, denied, certificate), else the summary
//     without names, numbers, paths and addresses. A provider that is down says something else for each type of resource,
//     and to those that plan and those that apply: that is why a recognised cause counts and not the words, and why the step
//     does not.
//   - A circuit is one kind of failure that is, or was, many stacks'. It concerns the stacks that failed alike, its members,
//     and all that use its provider; in all namespaces, or in those that it names.
//   - Evidence is what failures count as. A failure of a stack whose very configuration has worked before is evidence of its
//     own, and so is one that no program can be blamed for (unavailable, throttled, certificate). All others of one source
//     archive are one together: a broken commit of a module that a thousand stacks share is no outage.
//
// # When a circuit opens
//
// When, going back from now over the ends of runs, there is a moment since which there is as much evidence of one kind as
// Options.Stacks wants, and since which at least the share Options.Share of all comparable stacks (those with the same
// provider, if one is known) has failed alike. A stack counts once, with its last run; one that has failed for longer than
// Options.Window, or since before the circuit closed last, is no news and does not count, however often it is tried. All
// namespaces are meant when the failures are in several of them; otherwise the one where they are, which is what an expired
// credential of one team looks like.
//
// What is the stack's own is never evidence: errors of its configuration, a limit, a lock, a refusal, a cancellation, a
// tool that is missing. Nor is a run that was interrupted.
//
// # While it is open
//
// Members rest, except for one at a time, which is planned as a probe: the one that waited longest, the cheapest of those.
// After a probe that failed the next waits twice as long, up to Options.MaxPause. Any success of a member counts as a probe,
// whoever asked for the run. Options.Probes of them in a row, of different stacks where there are several, close it. A
// member that succeeded is one no more. If most of those that are no members succeed, it was no outage of all: the circuit
// shrinks to the namespaces where it is one, and closes when there are none. It shrinks as well to those where somebody fails
// when Options.Stacks stacks elsewhere were fine between its opening and a later failure: no number of failures that one
// tenant brings about holds up the others for long.
//
// # After it has closed
//
// Members are tried again spread over time, each at a moment that depends on its name alone. The circuit is remembered for
// Options.Keep, so that whoever it concerned knows until its first look at the world when that was.
//
// # What it does not do
//
// It does not know what stacks may or may not do because of a circuit; that is package decide's. It keeps nothing: the
// objects of the kind CircuitBreaker are its memory, and are kept by package controller. Counts of the window are lost at
// a restart; failures that still stand are told again.
//
// It remembers two hundred circuits at most. Beyond that the one that has been closed for the longest is forgotten, and where
// all are open no other is opened.
package book
