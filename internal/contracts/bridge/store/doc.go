// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package store reads and writes the documents of bridges: parameters of SSM, objects in S3, secrets in
// Vault, ConfigMaps and Secrets.
//
// Nouns:
//
//   - A document is JSON text at one place of a store.
//   - A tag identifies what was read: a version, an ETag, a resource version.
//
// Invariants:
//
//   - A write names the tag that it replaces. If another document is there by then, the write fails with
//     [ErrMoved] and the other document stays. SSM cannot compare and write in one step: there, a window
//     of one request remains, and the loss is reported and in the parameter's history.
//   - What is not there is an empty document, never an error.
//   - Errors never contain a document or a credential.
//   - Addresses of authors are reached as package outbound allows, and answers are read to a limit.
//
// The package does not know what a document means, and it retries nothing: bridges come again.
package store
