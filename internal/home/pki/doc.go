// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki creates and renews the certificates of one data directory.
//
// Nouns:
//   - An Authority is a certificate authority with its key in two files. It lives as long as the
//     data directory, so kubeconfigs and ConfigMaps that trust it never change.
//   - A Leaf is a certificate that an authority signs for one purpose, with its key in two files.
//
// Invariants:
//   - A leaf is renewed after two thirds of its life, when the authority has changed, or when its
//     hosts have. Renewal keeps the private key and replaces the certificate atomically: readers of
//     the two files always get a matching pair.
//   - A certificate serves or authenticates a client, never both, so a stolen server key opens
//     nothing.
//   - Private keys are ECDSA P-256 in files of mode 0600.
package pki
