// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Tenant is the status of one tenant.
type Tenant struct {
	Namespace, Name string
	// Ready, Desired, Failed and Conflicted are numbers of objects.
	Ready, Desired, Failed, Conflicted int
	// Conditions are its statuses by type. Degraded is the reason for that; else empty.
	Conditions map[string]string
	Degraded   string
}

// Registry is the status of one tenant registry.
type Registry struct {
	Namespace, Name string
	// Desired, Ready and Failed count tenants, Held those whose deletion waits for confirmation.
	Desired, Ready, Failed, Held int
}

// tenantBuckets are Tenant Operator's, and some for reconciliations that write nothing.
var tenantBuckets = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 2, 5, 10, 30, 60}

// tenants holds the metrics of tenants. Deleted objects disappear with the next scrape.
type tenants struct {
	opts      Options
	passes    *prometheus.HistogramVec
	writes    *prometheus.CounterVec
	conflicts *prometheus.CounterVec
	kinds     limited

	mu sync.Mutex
	// conflicted are the tenants with counted conflicts.
	conflicted map[named]bool
}

// heldDescs are of the metric for everybody, tenantDescs of those that name objects.
var (
	heldDescs   = descsOf(&tenantsHeld)
	tenantDescs = descsOf(&tenantReady, &tenantDesired, &tenantFailed, &tenantConflicted, &tenantCondition, &tenantDegraded,
		&registryDesired, &registryReady, &registryFailed)
)

func newTenants(opts Options) *tenants {
	return &tenants{opts: opts, kinds: limited{limit: maxResources}, conflicted: map[named]bool{},
		passes: tenantSeconds.histograms(tenantBuckets), writes: applyAttempts.counters(), conflicts: tenantConflicts.counters()}
}

// TenantPass counts a reconciliation of a tenant; result is success, partial_failure or error.
func (m *Metrics) TenantPass(result string, took time.Duration) {
	m.tenants.passes.WithLabelValues(result).Observe(seconds(took))
}

// TenantWrite counts an attempt to write an object of a tenant; result is success or error.
func (m *Metrics) TenantWrite(kind, result, policy string) {
	m.tenants.writes.WithLabelValues(m.tenants.kinds.name(kind), result, policy).Inc()
}

// TenantConflict counts an object that turned out to have another owner.
func (m *Metrics) TenantConflict(namespace, tenant, kind, policy string) {
	if !m.opts.PerObject {
		return
	}
	t := m.tenants
	kind = t.kinds.name(kind)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conflicted[named{name: tenant, namespace: namespace}] = true
	t.conflicts.WithLabelValues(tenant, namespace, kind, policy).Inc()
}

// Describe implements prometheus.Collector.
func (t *tenants) Describe(ch chan<- *prometheus.Desc) {
	t.passes.Describe(ch)
	t.writes.Describe(ch)
	ch <- heldDescs[&tenantsHeld]
	if !t.opts.PerObject {
		return
	}
	t.conflicts.Describe(ch)
	for _, d := range tenantDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (t *tenants) Collect(ch chan<- prometheus.Metric) {
	t.passes.Collect(ch)
	t.writes.Collect(ch)
	registries := t.collectHeld(ch)
	if !t.opts.PerObject {
		return
	}
	there, send := map[named]bool{}, sender(ch, tenantDescs)
	if t.opts.Tenants != nil {
		t.opts.Tenants(func(o *Tenant) {
			there[named{name: o.Name, namespace: o.Namespace}] = true
			collectTenant(send, o)
		})
	}
	for _, o := range registries {
		send(&registryDesired, float64(o.Desired), o.Name, o.Namespace)
		send(&registryReady, float64(o.Ready), o.Name, o.Namespace)
		send(&registryFailed, float64(o.Failed), o.Name, o.Namespace)
	}
	t.forget(there)
	t.conflicts.Collect(ch)
}

// collectHeld counts tenants that wait for confirmation, and returns the registries.
func (t *tenants) collectHeld(ch chan<- prometheus.Metric) []Registry {
	if t.opts.Registries == nil {
		return nil
	}
	var registries []Registry
	held := map[string]int{}
	t.opts.Registries(func(o *Registry) {
		registries = append(registries, *o)
		held[o.Namespace] += o.Held
	})
	for namespace, n := range held {
		sender(ch, heldDescs)(&tenantsHeld, float64(n), namespace)
	}
	return registries
}

// conditionValues are those of Tenant Operator; any other status is 2.
var conditionValues = map[string]float64{"False": 0, "True": 1}

func collectTenant(send sample, o *Tenant) {
	send(&tenantReady, float64(o.Ready), o.Name, o.Namespace)
	send(&tenantDesired, float64(o.Desired), o.Name, o.Namespace)
	send(&tenantFailed, float64(o.Failed), o.Name, o.Namespace)
	send(&tenantConflicted, float64(o.Conflicted), o.Name, o.Namespace)
	for kind, status := range o.Conditions {
		value, ok := conditionValues[status]
		if !ok {
			value = 2
		}
		send(&tenantCondition, value, o.Name, o.Namespace, strings.ToValidUTF8(kind, "?"))
	}
	if o.Degraded != "" {
		send(&tenantDegraded, 1, o.Name, o.Namespace, strings.ToValidUTF8(o.Degraded, "?"))
	}
}

// forget drops the counts of deleted tenants.
func (t *tenants) forget(there map[named]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of := range t.conflicted {
		if !there[of] {
			t.conflicts.DeletePartialMatch(prometheus.Labels{"tenant": of.name, "namespace": of.namespace})
			delete(t.conflicted, of)
		}
	}
}
