// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package environments has the commands "yuba env": a library's root modules operated by name, with
// tofu on this machine and without a server, or as stacks of one.
//
// Invariants:
//
//   - No command waits for an answer without a terminal, and tofu never asks: missing values are reported
//     before it starts.
//   - apply and destroy apply exactly the plan that was shown.
//   - tofu runs confined (package attended). It gets the credentials of the providers that the program
//     uses, and nothing else of the person.
//   - yuba.yaml and the programs are hostile: what they say cannot widen that.
package environments
