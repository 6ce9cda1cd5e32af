// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decrypt decrypts files and objects that SOPS encrypted for age keys.
//
// Nouns:
//
//   - Keys are the age identities of one Secret, its entries *.agekey.
//   - A file is one that sops wrote: YAML, JSON, dotenv, INI, or any bytes in a JSON envelope.
//   - An opener decrypts one file. [Program] uses a process of yuba-sops, because sops links the
//     libraries of four clouds (see package sopsfile).
//   - A recipient is the public part of an age key. A file names its recipients.
//
// Invariants:
//
//   - A file whose authentication code does not match its content is refused. kustomize invalidates
//     the codes of objects that it changes; their files were verified before.
//   - Errors contain neither decrypted data nor keys. The process gets both from standard input.
//
// The package reads neither files nor the API.
package decrypt
