// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decrypt opens what SOPS encrypted for age keys.
//
// The nouns:
//
//   - Keys are the age identities of one Secret, its entries *.agekey.
//   - A file is what sops wrote: YAML, JSON, dotenv, INI, or any bytes in an
//     envelope of JSON.
//   - An opener decrypts one file. [Program] does it in a process of yuba-sops, which alone links sops (see package
//     sopsfile): sops brings the libraries of four clouds with it.
//   - A recipient is the public half of an age key; a file names those that it
//     was encrypted for.
//
// Invariants:
//
//   - A file whose message authentication code is not that of its content is
//     refused. Objects that kustomize has changed since cannot be verified any
//     more; their files were.
//   - No error shows what was encrypted or a key. Keys and files reach the
//     process through its standard input only.
//
// The package reads no files and no API: it works on bytes and on objects.
package decrypt
