// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote reads and writes secrets in the stores of others: Vault, AWS Secrets Manager and Parameter
// Store, Google Secret Manager and Azure Key Vault.
//
// Nouns:
//
//   - A store has secrets by key. A secret has versions; without one, the current version is meant.
//   - A document is one secret that Yuba writes: see package contracts/bridge/store.
//
// Invariants:
//
//   - A secret that does not exist is a *[MissingError], so that it is told apart from a store that cannot be
//     reached.
//   - Errors never contain a value or a credential, and nothing of an answer but the service's own message.
//   - Answers are read to a limit, and redirects are not followed.
//   - Keys are escaped: a key cannot lead to another place than below the store's own.
//
// The package speaks the services' published REST APIs over net/http: their libraries would add many megabytes
// for a few calls. It retries nothing: its callers do.
package remote
