// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sopsfile decrypts files of sops.
//
// It links sops, and thereby the libraries of all clouds that sops supports. Therefore only the program
// yuba-sops links this package; the server uses that program through package decrypt.
//
// Invariants:
//
//   - Only the keys of a request are used: no environment, home directory, SSH key, agent or plugin of
//     this machine, and no network.
//   - Errors contain neither decrypted data nor keys.
package sopsfile
