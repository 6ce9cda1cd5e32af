// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles Flux's kind HelmRelease. A pass gathers facts and decides whether an
// attempt is due (package decide, pure). An attempt runs beside the passes: it decides each step, lets
// yuba-helm execute it (package session), and records the result in the status.
//
//	facts.go      what a pass knows: the chart, the dependencies, the key of the inputs
//	template.go   the HelmChart of spec.chart
//	target.go     service accounts and remote clusters
//	values.go     the parts of the values
//	attempt.go    one attempt, step by step
//	steps.go      the calls of the steps
//	record.go     conditions and history
//	memory.go     the memory between passes
//
// Invariants:
//
//   - One attempt of a HelmRelease runs at a time, and only it writes the status meanwhile.
//   - Nothing is installed with the server's own rights: on our own API a service account is required,
//     and all requests for the release use it.
//   - The status is written after every step, so an interrupted attempt is continued where it was.
//   - Values and manifests appear neither in the status nor in events, logs, arguments or environments.
//   - A pass without news starts no process while the stored release is as it was left, unless drift
//     is to be detected.
package controller
