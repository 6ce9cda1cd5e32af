// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package login finds out who uses the page, and remembers it for as long as their session lasts.
//
// Nouns:
//
//   - A link logs in whoever opens it first, as the user of the kubeconfig that asked for it. It is good
//     once and for [linkLife].
//   - A token is a bearer token of the API server, which says whose it is.
//   - A [Provider] is an identity provider at which people log in (package provider).
//   - A session is a Secret with the person in it. Its name is derived from a digest of the cookie, so
//     who may read the Secret cannot use the session. Deleting the Secret ends it.
//
// Invariants:
//
//   - The API server names the person, or an identity provider that this server was told to trust.
//     A form never does.
//   - Only this server makes sessions: their content is sealed with its key.
//   - A session gives no rights: each request is authorised for the person when it is made.
//   - Nothing that logs somebody in is logged, and tokens are not kept.
//   - A session ends when the pasted token that began it does. One that began with a link lasts no
//     longer than the server's limit, and an hour if the link was made with a token.
//   - One that began with a provider lasts at most [workday]: not as long as the ID token, which is for
//     one login and often lives for minutes.
//   - In a cluster nobody logs in who is a member of system:masters, unless an administrator allows it.
package login
