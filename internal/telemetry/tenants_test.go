// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"
	"time"
)

func TestTenantsAreCountedByTheNamesOfTheTenantOperator(t *testing.T) {
	there := []Tenant{{Namespace: "shop", Name: "acme-web", Ready: 3, Desired: 5, Failed: 2, Conflicted: 1, Degraded: "ResourceConflicts",
		Conditions: map[string]string{"Ready": "False", "Conflicted": "True", "Odd": "Unknown"}}}
	m := newMetrics(t, func(o *Options) {
		o.PerObject = true
		o.Tenants = func(yield func(*Tenant)) {
			for i := range there {
				yield(&there[i])
			}
		}
		o.Registries = func(yield func(*Registry)) {
			yield(&Registry{Namespace: "shop", Name: "customers", Desired: 10, Ready: 8, Failed: 1, Held: 3})
			yield(&Registry{Namespace: "shop", Name: "more", Held: 2})
		}
	})
	m.TenantPass("success", time.Second)
	m.TenantPass("partial_failure", time.Second)
	m.TenantWrite("ConfigMap", "success", "Stuck")
	m.TenantWrite("ConfigMap", "success", "Stuck")
	m.TenantConflict("shop", "acme-web", "ConfigMap", "Stuck")
	of := "namespace=shop,tenant=acme-web"
	wantValues(t, scrape(t, m), map[string]map[string]float64{
		"tenant_reconcile_duration_seconds": {"result=success": 1, "result=partial_failure": 1},
		"apply_attempts_total":              {"conflict_policy=Stuck,kind=ConfigMap,result=success": 2},
		"tenant_resources_ready":            {of: 3}, "tenant_resources_desired": {of: 5}, "tenant_resources_failed": {of: 2}, "tenant_resources_conflicted": {of: 1},
		"tenant_condition_status": {of + ",type=Ready": 0, of + ",type=Conflicted": 1, of + ",type=Odd": 2},
		"tenant_degraded_status":  {"namespace=shop,reason=ResourceConflicts,tenant=acme-web": 1},
		"tenant_conflicts_total":  {"conflict_policy=Stuck,namespace=shop,resource_kind=ConfigMap,tenant=acme-web": 1},
		"registry_desired":        {"namespace=shop,registry=customers": 10, "namespace=shop,registry=more": 0},
		"registry_ready":          {"namespace=shop,registry=customers": 8, "namespace=shop,registry=more": 0},
		"registry_failed":         {"namespace=shop,registry=customers": 1, "namespace=shop,registry=more": 0},
		"yuba_tenants_held":       {"namespace=shop": 5},
	})
	there = nil
	if got := scrape(t, m); got["tenant_conflicts_total"] != nil || got["tenant_resources_ready"] != nil {
		t.Error("a tenant that is gone is still told of")
	}
}

func TestTenantsAreNotNamedUnlessAskedFor(t *testing.T) {
	m := newMetrics(t, func(o *Options) {
		o.Tenants = func(yield func(*Tenant)) { yield(&Tenant{Namespace: "shop", Name: "acme-web"}) }
	})
	m.TenantConflict("shop", "acme-web", "ConfigMap", "Stuck")
	m.TenantWrite("ConfigMap", "error", "Stuck")
	got := scrape(t, m)
	if got["tenant_conflicts_total"] != nil || got["tenant_resources_ready"] != nil {
		t.Error("tenants are named")
	}
	wantValues(t, got, map[string]map[string]float64{"apply_attempts_total": {"conflict_policy=Stuck,kind=ConfigMap,result=error": 1}})
}
