// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package keep reads and writes the document of an environment's secrets in its store and its copies: a
// Secret of Kubernetes, a file of SOPS, or one JSON document in Vault, SSM, AWS Secrets Manager, Google Secret
// Manager or Azure Key Vault.
//
// Nouns:
//
//   - A place is one document in one store; see package decide for documents.
//   - A tag identifies what was read. A write names the tag that it replaces.
//   - A turn is the annotation of a Secret of Kubernetes that says which stacks wait until others have run
//     with its new values. Stacks ignore it after its end, so that nobody waits for a process that is gone.
//
// Invariants:
//
//   - Values and book are written together, in one request or one rename.
//   - If somebody else wrote since the read, the write fails with [ErrMoved]. SSM, Google and Azure
//     cannot compare and write in one step: there, a window of one request remains; see packages store and remote.
//   - A store and its copies know each other by a random ID in their books. A place with the book of another
//     environment, or of another store, is not written.
//   - Values that nobody declared, and labels and annotations of other programs, stay as they are.
//   - Errors never contain a value or a credential.
package keep
