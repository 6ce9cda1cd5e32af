// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gotkBuckets are those of Flux's histogram, so that its dashboards read both.
var gotkBuckets = prometheus.ExponentialBucketsRange(10e-3, 1800, 10)

// gotk are the metrics that name objects. Those of objects that are gone go with the next scrape.
type gotk struct {
	objects   func(yield func(*Object))
	durations *prometheus.HistogramVec

	mu    sync.Mutex
	known map[named]bool
}

// named is an object.
type named struct{ kind, name, namespace string }

func newGotk(objects func(func(*Object))) *gotk {
	if objects == nil {
		objects = func(func(*Object)) {}
	}
	return &gotk{objects: objects, known: map[named]bool{}, durations: prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Name: gotkDuration.name, Help: gotkDuration.help, Buckets: gotkBuckets}, gotkDuration.labels)}
}

func (g *gotk) observe(kind, namespace, name string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[named{kind, name, namespace}] = true
	g.durations.WithLabelValues(kind, name, namespace).Observe(seconds(took))
}

// Describe is part of prometheus.Collector.
func (g *gotk) Describe(ch chan<- *prometheus.Desc) {
	ch <- descs[&gotkInfo]
	g.durations.Describe(ch)
}

// Collect is part of prometheus.Collector.
func (g *gotk) Collect(ch chan<- prometheus.Metric) {
	there := map[named]bool{}
	g.objects(func(o *Object) {
		there[named{o.Kind, o.Name, o.Namespace}] = true
		ch <- prometheus.MustNewConstMetric(descs[&gotkInfo], prometheus.GaugeValue, 1,
			o.Group, o.Version, o.Kind, o.Namespace, o.Name, readyOf(o), strconv.FormatBool(o.Suspended), o.Revision, o.Source)
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
