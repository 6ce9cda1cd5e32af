// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry tells machines how a server does: numbers for Prometheus, spans for OpenTelemetry, and the few figures
// that people look at live.
//
//	catalog.go   every metric there is, from which docs/reference/metrics.md is written
//	metrics.go   those that are counted when something happens
//	live.go      those that are asked for when somebody scrapes
//	objects.go   how objects stand, from a cache
//	gotk.go      the names that Flux's users know
//	writes.go    what this server writes to its API
//	recent.go    the last runs, for `yuba top`
//	traces.go    a run, a fetch, an apply as spans, once they are over
//
// # Invariants
//
//   - A label has few values. Names of stacks are none, unless that is asked for; namespaces, reasons and kinds of objects
//     are counted together beyond a limit, so that nobody fills the memory of who scrapes.
//   - What is observed costs a few additions under a short lock; nobody waits for a scrape or for a collector of spans, and
//     a dead one costs a bounded queue and a line in the log now and then.
//   - Spans are made from records that are masked already, and say which kind of failure it was and not its text.
//
// The package decides nothing and imports neither controllers nor the API: internal/app feeds it.
package telemetry
