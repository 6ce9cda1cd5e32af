// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki makes and renews the certificates of one data directory.
//
// Nouns:
//   - An Authority is a certificate authority with its key in two files. It lives as long as the data directory: what
//     trusts it (kubeconfigs, ConfigMaps) need never change.
//   - A Leaf is a certificate that an authority signs for one purpose, with its key in two files.
//
// Invariants:
//   - A leaf is renewed when two thirds of its life are over, when the authority is another one, or when it should name
//     other hosts. Renewal keeps the private key and replaces only the certificate, as a whole: whoever reads the two files
//     at any moment has a matching pair.
//   - A certificate serves or authenticates a client, never both, so a stolen server key opens nothing.
//   - Private keys are ECDSA P-256 in files of mode 0600.
package pki
