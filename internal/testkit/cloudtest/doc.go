// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloudtest is Google's Secret Manager and Azure's Key Vault, as far as secrets use them: servers that speak
// the published REST APIs (v1; 7.4) and have their limits, with the token services that come before them.
//
// Invariants:
//
//   - No secret is served without a token that the server's own token service made. That of Google verifies the
//     signature of the service account's key, that of Azure the secret of the client.
//   - Nothing is accepted that the clouds document as refused: names, sizes, unknown versions, unknown fields.
//   - Lists have small pages.
//
// It has no encryption, regions, permissions or soft deletion.
package cloudtest
