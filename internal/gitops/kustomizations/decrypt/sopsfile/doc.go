// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sopsfile decrypts files as sops writes them.
//
// It links sops, and with it the libraries of every cloud whose keys sops knows, whether they are used or not. Therefore
// only the program yuba-sops links this package; the server asks that program through package decrypt.
//
// Invariants:
//
//   - The keys are those of a request and no others: no environment, no home directory, no SSH key, no agent and no
//     plugin of this machine is asked, and nothing is called over a network.
//   - No error shows what was encrypted, or a key.
package sopsfile
