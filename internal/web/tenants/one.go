// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/hide"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// resource is an object of a tenant.
type resource struct {
	ID, Kind, APIVersion string
	Namespace, Name      string
	Cluster, Policy      string
	// State is ready, waiting or failed; Says why.
	State   standing.State
	Says    string
	Since   *metav1.Time
	Address string
}

// failures are the reasons of objects that do not become ready by waiting.
var failures = []string{"Conflict", "Timeout", "Failed", "Broken", "Refused"}

// resourcesOf lists the objects of a tenant, those first that are not ready.
func resourcesOf(t *tenantv1.Tenant) []resource {
	waiting := map[string]tenantv1.WaitingResource{}
	for _, w := range t.Status.Waiting {
		waiting[w.ID] = w
	}
	var list []resource
	for i := range t.Status.Inventory {
		o := &t.Status.Inventory[i]
		r := resource{ID: o.ID, Kind: o.Kind, APIVersion: o.APIVersion, Namespace: o.Namespace, Name: o.Name, Policy: string(o.DeletionPolicy), State: standing.Ready}
		if o.Cluster != "" {
			r.Cluster = "the cluster of the template"
		}
		if o.Kind == "Terraform" && o.Cluster == "" {
			r.Address = site.Path("stacks", o.Namespace, o.Name)
		}
		if w, is := waiting[o.ID]; is {
			r.wait(w)
			delete(waiting, o.ID)
		}
		list = append(list, r)
	}
	for _, w := range t.Status.Waiting {
		if _, is := waiting[w.ID]; is { // it does not exist yet
			r := resource{ID: w.ID}
			r.wait(w)
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b resource) int { return a.State.Rank() - b.State.Rank() })
	return list
}

func (r *resource) wait(w tenantv1.WaitingResource) {
	r.State, r.Since, r.Says = standing.Waiting, w.Since, w.Reason
	if slices.Contains(failures, w.Reason) {
		r.State = standing.Failed
	}
	if w.Message != "" {
		r.Says += ": " + w.Message
	}
}

// columnsOf names the extra columns of a tenant's row. Their values may be secret.
func columnsOf(t *tenantv1.Tenant) []string {
	r, err := render.RowOf(t)
	if err != nil {
		return nil
	}
	var names []string
	for name := range r.Extra {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// rendered is what a template makes of the row of a tenant.
type rendered struct {
	Objects []manifest
	// Mistakes say why objects are missing.
	Mistakes []string
}

type manifest struct{ ID, Text string }

// renderedOf renders a template with the row of a tenant, without sensitive values. It changes nothing
// and keeps the tenant's numbers.
func renderedOf(template *tenantv1.TenantTemplate, tenant *tenantv1.Tenant) rendered {
	row, err := render.RowOf(tenant)
	if err != nil {
		return rendered{Mistakes: []string{err.Error()}}
	}
	pools := allocate.New()
	pools.Keep(tenant.Spec.UID, tenant.Spec.Allocations)
	made, err := check.Tenant(template, row, pools.For(row.UID, tenant.Spec.Allocations))
	if err != nil {
		return rendered{Mistakes: strings.Split(err.Error(), "\n")}
	}
	return manifestsOf(made)
}

// manifestsOf renders the objects of a tenant, without sensitive values.
func manifestsOf(made *tenantv1.Tenant) (out rendered) {
	objects, errs := render.Objects(made)
	for _, e := range errs {
		out.Mistakes = append(out.Mistakes, e.Error())
	}
	for _, o := range objects {
		text, err := yaml.Marshal(hide.Secrets(o.Object).Object)
		if err != nil {
			text = fmt.Append(nil, err)
		}
		out.Objects = append(out.Objects, manifest{o.ID, string(text)})
	}
	return out
}
