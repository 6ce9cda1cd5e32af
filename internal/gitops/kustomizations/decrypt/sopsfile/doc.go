// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sopsfile decrypts files of sops, and encrypts files for age keys.
//
// sops links the libraries of many clouds, so only the program yuba-sops links this package; the
// server runs that program through package decrypt.
//
// Invariants:
//
//   - Only a request's keys are used: no environment, home directory, SSH key, agent or plugin of
//     this machine, and no network.
//   - Errors contain neither decrypted data nor keys.
package sopsfile
