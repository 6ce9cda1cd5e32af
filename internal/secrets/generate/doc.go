// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package generate makes the values of secrets: passwords, tokens, key pairs and certificates.
//
// Invariants:
//
//   - All randomness comes from the system's generator.
//   - Each character of a password is as likely as any other, and each class has at least one.
//   - A certificate is signed by the current value of its signer, or by the new one if both are made in
//     the same call; it does not outlive its signer.
//   - Errors never contain a value.
package generate
