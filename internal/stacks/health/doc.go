// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package health checks whether the services of a stack respond.
//
// The nouns:
//
//   - A check is defined by a stack's author: a name, a method and a place, possibly a template
//     over outputs.
//   - A probe is a check with its place filled in, also in a form that may be shown.
//
// # Invariants
//
//   - Messages of probes contain neither sensitive outputs nor a server's answer.
//   - A probe ends within its timeout.
//
// The stack controller decides when to probe, and what a result means.
package health
