// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package provider logs people in by an identity provider that speaks OpenID Connect.
//
// Nouns:
//
//   - A [Provider] is an issuer of identities. It is discovered when somebody first logs in, so that a
//     provider that is away does not keep the server from starting.
//   - A [Flow] is one login on its way: what the browser has to bring back from the provider. The
//     browser keeps it, so that any replica can finish the login.
//   - [Claims] say which claims of an ID token name the person and their groups. They mean what the
//     flags of kube-apiserver with the same names mean, so that one person has the same name here and
//     in the API.
//
// Invariants:
//
//   - Only an ID token names a person: signed by the issuer, for this client, not expired, with the
//     flow's nonce, and got by code with the flow's proof key (PKCE).
//   - No claim becomes a name or a group of the system's own ([reserved]).
//   - Tokens and the client's secret are not kept, logged or part of an error.
package provider
