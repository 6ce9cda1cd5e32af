// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// examine checks a template.
func (r *Controller) examine(ctx context.Context, template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) ([]check.Finding, error) {
	// The check uses the target as a tenant would; this is not a valid tenant name.
	user := owned.Owner{Namespace: template.Namespace, Name: "template " + template.Name}
	target, err := r.clusters.Target(ctx, user, template.Spec.KubeConfig)
	defer r.clusters.Forget(user)
	w := &world{home: r.clusters.Home, target: target, unreachable: err, now: r.Now}
	// One matching row is enough: problems of other rows are reported on their tenants.
	var first []check.Finding
	for i, s := range r.samples(template, registry) {
		findings, err := check.Template(ctx, s, w)
		if err != nil || len(check.Errors(findings)) == 0 {
			return findings, err
		}
		if i == 0 {
			first = findings
		}
	}
	return first, nil
}

// samples are rows to check a template with: the registry's, or a made-up one.
func (r *Controller) samples(template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) []check.Subject {
	var list []check.Subject
	if registry != nil {
		for _, sample := range r.findings.Samples(client.ObjectKeyFromObject(registry)) {
			list = append(list, check.Subject{Template: template, Row: sample.Row, Private: true, EnvPrefixes: r.envPrefixes})
		}
	}
	if len(list) == 0 {
		list = append(list, check.Subject{Template: template, Row: check.SampleOf(template, registry), Invented: true, EnvPrefixes: r.envPrefixes})
	}
	return list
}

// world has the APIs for a template's objects.
type world struct {
	home, target *targets.Cluster
	// unreachable is why the target cannot be asked.
	unreachable error
	now         func() time.Time
}

// Serves implements check.World.
func (w *world) Serves(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	c, err := w.of(gvk)
	return c != nil, err
}

// of finds the cluster that serves a kind.
func (w *world) of(gvk schema.GroupVersionKind) (*targets.Cluster, error) {
	served, _, err := w.home.Kinds.Serves(gvk, w.now())
	var other *kinds.OtherVersionError
	switch {
	case errors.As(err, &other):
		return nil, nil
	case err != nil:
		return nil, err
	case served:
		return w.home, nil
	case w.unreachable != nil:
		return nil, fmt.Errorf("use the cluster of spec.kubeConfig: %w", targets.Explain(w.unreachable))
	case w.target == nil:
		return nil, nil
	}
	if served, _, err = w.target.Kinds.Serves(gvk, w.now()); errors.As(err, &other) {
		return nil, nil
	}
	if err != nil || !served {
		return nil, w.target.Shown(err)
	}
	return w.target, nil
}

// DryRun implements check.World.
func (w *world) DryRun(ctx context.Context, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	c, err := w.of(gvk)
	if c == nil || err != nil {
		return err
	}
	if _, root, err := c.Kinds.Serves(gvk, w.now()); err == nil && root {
		o.SetNamespace("")
	}
	err = c.Client.Patch(ctx, o, yamltext.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner(tenantv1.FieldManager))
	return c.Shown(err)
}
