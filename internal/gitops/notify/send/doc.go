// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package send sends events to services: chats, webhooks, and forges that show commit statuses.
//
// Nouns:
//
//   - A target is a service with its access. Its type is one of the published kind Provider.
//   - A message is an event for one target. It is the same in all attempts to send it.
//   - A commit status has a state, a description, and a name that is unique for an object and a
//     provider.
//
// Invariants:
//
//   - An attempt succeeds, or returns an *Error: in our own words why it failed, and whether to
//     retry. It quotes neither responses nor addresses beyond the host, which may contain
//     credentials.
//   - Messages, responses and the time are limited, messages as their service requires.
//   - Redirects are not followed: they would send a token elsewhere.
//
// Package controller selects receivers and retries.
package send
