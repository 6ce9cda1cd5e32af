// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decrypt opens what SOPS encrypted for age keys.
//
// The nouns:
//
//   - Keys are the age identities of one Secret, its entries *.agekey.
//   - A file is what sops wrote: YAML, JSON, dotenv, INI, or any bytes in an
//     envelope of JSON.
//   - A recipient is the public half of an age key; a file names those that it
//     was encrypted for.
//
// Invariants:
//
//   - The keys are those of the Secret and no others: no environment, no home
//     directory, no SSH key, no agent and no plugin of this machine is asked,
//     and nothing is called over a network.
//   - A file whose message authentication code is not that of its content is
//     refused. Objects that kustomize has changed since cannot be verified any
//     more; their files were.
//   - No error shows what was encrypted or a key.
//
// The package reads no files and no API: it works on bytes and on objects.
package decrypt
