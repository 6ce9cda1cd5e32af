// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// examine checks a template.
func (r *templateController) examine(ctx context.Context, template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) ([]check.Finding, error) {
	// Whom the target's watches count as a user; no tenant has such a name.
	user := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: "template " + template.Name},
		Spec: tenantv1.TenantSpec{KubeConfig: template.Spec.KubeConfig}}
	m := newMemory("")
	target, err := r.clusters.target(ctx, user, m)
	defer r.clusters.keep(client.ObjectKeyFromObject(user), m, func(string) bool { return false })
	w := &world{home: r.clusters.home, target: target, unreachable: err, now: r.Now}
	// A template is well that is so for some rows: what it lacks for one of them that tenant is told.
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

// maxSamples is how many rows a template is checked with, as long as it fits none of them.
const maxSamples = 5

// samples are the first active rows.
func (r *reading) samples() []row.Row {
	var list []row.Row
	for i := range r.rows {
		if r.rows[i].Active && len(list) < maxSamples {
			list = append(list, r.rows[i])
		}
	}
	return list
}

// samples are rows to check a template with: some of its registry's, or one that is made up.
func (r *templateController) samples(template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) []check.Subject {
	var list []check.Subject
	if registry != nil {
		if good := r.ledger.goodReading(client.ObjectKeyFromObject(registry)); good != nil {
			for _, of := range good.samples() {
				list = append(list, check.Subject{Template: template, Row: of, Private: true, EnvPrefixes: r.EnvPrefixes})
			}
		}
	}
	if len(list) == 0 {
		list = append(list, check.Subject{Template: template, Row: check.SampleOf(template, registry), Invented: true, EnvPrefixes: r.EnvPrefixes})
	}
	return list
}

// world is what a template's objects go to.
type world struct {
	home, target *cluster
	// unreachable is why the target cannot be asked.
	unreachable error
	now         func() time.Time
}

// Serves implements check.World.
func (w *world) Serves(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	c, err := w.of(gvk)
	return c != nil, err
}

// of finds who serves a kind.
func (w *world) of(gvk schema.GroupVersionKind) (*cluster, error) {
	served, _, err := w.home.kinds.Serves(gvk, w.now())
	var other *kinds.OtherVersionError
	switch {
	case errors.As(err, &other):
		return nil, nil
	case err != nil:
		return nil, err
	case served:
		return w.home, nil
	case w.unreachable != nil:
		return nil, fmt.Errorf("use the cluster of spec.kubeConfig: %w", said(w.unreachable))
	case w.target == nil:
		return nil, nil
	}
	if served, _, err = w.target.kinds.Serves(gvk, w.now()); errors.As(err, &other) {
		return nil, nil
	}
	if err != nil || !served {
		return nil, w.target.said(err)
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
	if _, root, err := c.kinds.Serves(gvk, w.now()); err == nil && root {
		o.SetNamespace("")
	}
	err = c.Client.Patch(ctx, o, yamltext.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner(tenantv1.FieldManager))
	return c.said(err)
}
