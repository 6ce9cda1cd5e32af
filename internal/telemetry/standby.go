// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Standby serves the metrics of a replica that waits to take over: its version, and what also has of
// the process.
func Standby(version string, also prometheus.Gatherer, log *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(waiting{version})
	return handler(registry, also, log)
}

// waiting is a replica that does not lead.
type waiting struct{ version string }

var waitingDescs = descsOf(&buildInfo, &leads)

// Describe implements prometheus.Collector.
func (w waiting) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range waitingDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (w waiting) Collect(ch chan<- prometheus.Metric) {
	send := sender(ch, waitingDescs)
	send(&buildInfo, 1, w.version, "", runtime.Version())
	send(&leads, 0)
}
