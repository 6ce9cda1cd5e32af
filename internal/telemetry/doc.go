// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports metrics for Prometheus, spans for OpenTelemetry, and the few figures of
// `yuba top`.
//
//	catalog.go   all metrics, the source of docs/reference/metrics.md
//	metrics.go   metrics that are counted as events happen
//	live.go      metrics that are determined at each scrape
//	objects.go   the status of objects, from a cache
//	gotk.go      metrics with Flux's names
//	writes.go    API writes of this server
//	recent.go    the last runs, for `yuba top`
//	traces.go    spans of completed runs, fetches and applies
//
// # Invariants
//
//   - Labels have few values. Names of stacks are not labels unless requested. Beyond a limit,
//     namespaces, reasons and kinds share one value, so that no user can fill Prometheus' memory.
//   - An observation costs a few additions under a short lock. Nothing waits for a scrape or a
//     collector of spans; a collector that is down costs a bounded queue and an occasional log
//     line.
//   - Spans are made from masked records, and contain the kind of a failure, not its text.
//
// The package decides nothing and imports neither controllers nor the API: internal/app feeds it.
package telemetry
