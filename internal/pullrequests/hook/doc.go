// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package hook verifies and reads the webhooks of forges.
//
// An event is a hint that something happened: to which pull request or branch of which repository. It saves the wait for
// a poll, and decides nothing: whoever acts on it asks the forge for the pull request, the comment and the rights of its
// author, as the hook's content is what the sender says.
//
// Invariants:
//
//   - No event comes from a request whose signature or token is wrong. An empty secret fits nothing.
//   - Unknown events are ignored, not errors: forges add some, and people subscribe to too many.
//   - A request that was seen before is recognised, by the id of its delivery and by its body: forges do not sign the id.
//   - Errors contain neither the secret nor the content.
package hook
