// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gotkBuckets are those of Flux's histogram, so that its dashboards work.
var gotkBuckets = prometheus.ExponentialBucketsRange(10e-3, 1800, 10)

var gotkDescs = descsOf(&gotkInfo, &gotkCondition, &gotkSuspend)

// gotk holds the metrics that name objects. Deleted objects disappear with the next scrape.
type gotk struct {
	objects   func(yield func(*Object))
	durations *prometheus.HistogramVec

	mu    sync.Mutex
	known map[named]bool
}

// named identifies an object.
type named struct{ kind, name, namespace string }

func newGotk(objects func(func(*Object))) *gotk {
	if objects == nil {
		objects = func(func(*Object)) {}
	}
	return &gotk{objects: objects, known: map[named]bool{}, durations: gotkDuration.histograms(gotkBuckets)}
}

func (g *gotk) observe(kind, namespace, name string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[named{kind, name, namespace}] = true
	g.durations.WithLabelValues(kind, name, namespace).Observe(seconds(took))
}

// Describe implements prometheus.Collector.
func (g *gotk) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range gotkDescs {
		ch <- d
	}
	g.durations.Describe(ch)
}

// Collect implements prometheus.Collector.
func (g *gotk) Collect(ch chan<- prometheus.Metric) {
	there, send := map[named]bool{}, sender(ch, gotkDescs)
	g.objects(func(o *Object) {
		there[named{o.Kind, o.Name, o.Namespace}] = true
		ready := readyOf(o)
		send(&gotkInfo, 1, o.Group, o.Version, o.Kind, o.Namespace, o.Name, ready, strconv.FormatBool(o.Suspended),
			strings.ToValidUTF8(o.Revision, "?"), strings.ToValidUTF8(o.Source, "?"))
		send(&gotkSuspend, number(o.Suspended), o.Kind, o.Name, o.Namespace)
		for _, status := range []string{"True", "False", "Unknown"} {
			send(&gotkCondition, number(ready == status), o.Kind, o.Name, o.Namespace, "Ready", status)
		}
	})
	g.mu.Lock()
	for n := range g.known {
		if !there[n] {
			delete(g.known, n)
			g.durations.DeleteLabelValues(n.kind, n.name, n.namespace)
		}
	}
	g.mu.Unlock()
	g.durations.Collect(ch)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
