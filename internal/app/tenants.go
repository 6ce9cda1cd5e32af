// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/telemetry"
	tenants "github.com/yuba-dev/yuba/internal/tenants/controller"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/tenant"
)

// addTenants adds the controllers of tenants.
func (e *engine) addTenants(ctx context.Context, direct client.Client) error {
	if e.opts.leaveTenants != "" {
		e.opts.Log.Warn("tenants are not reconciled: " + e.opts.leaveTenants)
		return nil
	}
	for _, kind := range []string{tenantv1.TenantRegistryKind, tenantv1.TenantTemplateKind, tenantv1.TenantKind} {
		served, err := serves(e.manager.GetRESTMapper(), tenantv1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if !served {
			e.opts.Log.Warn("this API does not serve the kind " + kind + ", so tenants are not reconciled. " + installMissing)
			return nil
		}
	}
	r := &tenants.Tenants{
		Client: direct, Reader: direct, Events: e.events, Config: e.manager.GetConfig(), Rows: database.Options{SQLiteDirs: e.opts.SQLiteSources}, EnvPrefixes: e.opts.TenantEnvPrefixes,
		Observe: e.metrics, Busy: e.breath.Voice(), Now: time.Now, Log: e.opts.Log.With("component", "tenants"),
	}
	if err := r.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the controllers of tenants: %w", err)
	}
	e.tenants.Store(true)
	return nil
}

// eachTenantObject yields the status of registries, templates and tenants, from memory.
func (e *engine) eachTenantObject(yield func(*telemetry.Object)) {
	if !e.tenants.Load() {
		return
	}
	var o telemetry.Object
	tell := func(kind string) {
		o.Group, o.Version, o.Kind = tenantv1.GroupVersion.Group, tenantv1.GroupVersion.Version, kind
		yield(&o)
	}
	each(e, &tenantv1.TenantRegistry{}, func(t *tenantv1.TenantRegistry) {
		o = describeObject(t, t.Status.Conditions, false)
		tell(tenantv1.TenantRegistryKind)
	})
	each(e, &tenantv1.TenantTemplate{}, func(t *tenantv1.TenantTemplate) {
		o = describeObject(t, nil, false)
		if c := apimeta.FindStatusCondition(t.Status.Conditions, tenantv1.ConditionApplied); c != nil {
			o.Ready, o.Reason = string(c.Status), c.Reason
		}
		o.Source = t.Spec.RegistryID
		tell(tenantv1.TenantTemplateKind)
	})
	each(e, &tenantv1.Tenant{}, func(t *tenantv1.Tenant) {
		o = describeObject(t, t.Status.Conditions, false)
		o.Revision, o.Source = t.Annotations[tenantv1.AnnotationTemplateGeneration], t.Spec.TemplateRef
		tell(tenantv1.TenantKind)
	})
}

// eachTenant yields the status of each tenant.
func (e *engine) eachTenant(yield func(*telemetry.Tenant)) {
	if !e.tenants.Load() {
		return
	}
	each(e, &tenantv1.Tenant{}, func(t *tenantv1.Tenant) {
		s := &t.Status
		o := telemetry.Tenant{Namespace: t.Namespace, Name: t.Name, Ready: int(s.ReadyResources), Desired: int(s.DesiredResources), Failed: int(s.FailedResources),
			Conditions: make(map[string]string, len(s.Conditions))}
		for _, c := range s.Conditions {
			o.Conditions[c.Type] = string(c.Status)
			if c.Type == tenantv1.ConditionDegraded && c.Status == "True" {
				o.Degraded = c.Reason
			}
		}
		for _, w := range s.Waiting {
			if w.Reason == tenant.WaitConflict {
				o.Conflicted++
			}
		}
		yield(&o)
	})
}

// eachRegistry yields the status of each tenant registry.
func (e *engine) eachRegistry(yield func(*telemetry.Registry)) {
	if !e.tenants.Load() {
		return
	}
	each(e, &tenantv1.TenantRegistry{}, func(t *tenantv1.TenantRegistry) {
		s := &t.Status
		o := telemetry.Registry{Namespace: t.Namespace, Name: t.Name, Desired: int(s.Desired), Ready: int(s.Ready), Failed: int(s.Failed)}
		if s.Held != nil {
			o.Held = int(s.Held.Count)
		}
		yield(&o)
	})
}
