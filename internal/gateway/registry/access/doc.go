// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package access decides who asks the registry, and what they may do.
//
//   - [API] asks an API server: tokens by TokenReview, rights by SubjectAccessReview. Answers count for
//     ten seconds, so a withdrawn right ends here within that time. Tokens with the [Audience] are for
//     the registry only; those for the API are accepted, too.
//   - [Static] knows a list of tokens, for a registry without an API. It has their digests only.
package access
