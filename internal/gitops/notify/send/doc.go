// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package send tells services about events: chats, webhooks, and forges that show statuses beside commits.
//
// The nouns:
//
//   - A target is a service with all it takes to speak to it. Its type is a published one of the kind Provider.
//   - A message is an event and what goes with it to one target. It is the same in every attempt to send it.
//   - A commit status has a name, which is unique for an object and a provider, a state and a description.
//
// # Invariants
//
//   - An attempt either ends with the service having taken the message, or with an *Error that says in our own words why
//     it did not and whether it may later. What services answer is never quoted, neither are addresses beyond the host's
//     name: they hold what opens the service.
//   - Everything is bounded: the message as its service demands, what is read of an answer, the time.
//   - No redirection is followed: it would carry a token to somewhere else.
//
// The package does not decide who is told what, and it does not try again: that is package notify.
package send
