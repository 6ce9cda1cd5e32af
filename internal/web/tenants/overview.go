// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// registry is a registry as the page shows it.
type registry struct {
	Namespace, Name string
	State           standing.State
	Says, Source    string
	Rows, Active    int32
	Ready, Desired  int32
	Failed          int32
	Changed         *metav1.Time
	Rejected        []string
	RejectedRows    int32
	Held            *held
	Templates       []template
	Sync            site.Button
}

// held is a deletion that waits for a person.
type held struct {
	ID, Says  string
	Count     int32
	Tenants   []string
	More      int32
	Since     *metav1.Time
	Confirmed bool
	Confirm   site.Button
}

// template is a template of a registry.
type template struct {
	Namespace, Name string
	State           standing.State
	Says            string
	Ready, Total    int32
	Rollout         *rollout
	// Try leads to the page where it is tried with a row.
	Try string
}

// rollout is how far a changed template has come.
type rollout struct {
	Phase            string
	Says             string
	Updated, Total   int32
	Updating         int32
	Started, Ended   *metav1.Time
	TargetGeneration int64
}

// registryOf says how a registry stands.
func registryOf(o *tenantv1.TenantRegistry, templates []*tenantv1.TenantTemplate) registry {
	r := registry{Namespace: o.Namespace, Name: o.Name, Source: string(o.Spec.Source.Type), Ready: o.Status.Ready, Desired: max(o.Status.Desired, o.Status.Ready), Failed: o.Status.Failed}
	r.State, r.Says = standing.OfConditions(o, o.Status.Conditions, false)
	if s := o.Status.LastSync; s != nil {
		r.Rows, r.Active, r.Changed, r.Rejected, r.RejectedRows = s.Rows, s.Active, s.ChangedAt, s.Rejected, s.RejectedRows
	}
	if h := o.Status.Held; h != nil {
		r.Held = &held{ID: h.ID, Says: h.Message, Count: h.Count, Tenants: h.Tenants, More: h.Count - int32(len(h.Tenants)), Since: h.Since, Confirmed: standing.HeldDeletion(o) == nil} //nolint:gosec // a status names at most MaxNamed tenants
		if !r.Held.Confirmed && r.State == standing.Ready {
			r.State = standing.Pending
		}
	}
	for _, t := range templates {
		if t.Namespace == o.Namespace && t.Spec.RegistryID == o.Name {
			r.Templates = append(r.Templates, templateOf(t))
		}
	}
	return r
}

// templateOf says how a template stands.
func templateOf(t *tenantv1.TenantTemplate) template {
	v := template{Namespace: t.Namespace, Name: t.Name, Try: tryAddress(t.Namespace, t.Name), Ready: t.Status.ReadyTenants, Total: t.Status.TotalTenants, State: standing.Running, Says: "Not reconciled yet."}
	valid := apimeta.FindStatusCondition(t.Status.Conditions, tenantv1.ConditionValid)
	applied := apimeta.FindStatusCondition(t.Status.Conditions, tenantv1.ConditionApplied)
	switch {
	case t.DeletionTimestamp != nil:
		v.State, v.Says = standing.Deleting, messageOf(applied)
	case valid != nil && valid.Status == metav1.ConditionFalse:
		v.State, v.Says = standing.Failed, "The template has mistakes: "+valid.Message
	case applied != nil && applied.Reason == tenantv1.ReasonRolloutPaused:
		v.State, v.Says = standing.Pending, applied.Message
	case applied != nil && applied.Status == metav1.ConditionFalse:
		v.State, v.Says = standing.Failed, applied.Message
	case applied != nil && applied.Status == metav1.ConditionTrue:
		v.State, v.Says = standing.Ready, applied.Message
	case applied != nil || valid != nil:
		v.Says = cmp.Or(messageOf(applied), messageOf(valid))
	}
	if o := t.Status.Rollout; o != nil && o.Phase != tenantv1.RolloutIdle {
		v.Rollout = &rollout{Phase: string(o.Phase), Says: o.Message, Updated: o.UpdatedTenants, Total: o.TotalTenants, Updating: o.UpdatingTenants,
			Started: o.StartTime, Ended: o.CompletionTime, TargetGeneration: o.TargetGeneration}
	}
	return v
}

func messageOf(c *metav1.Condition) string {
	if c == nil {
		return ""
	}
	return c.Message
}

// row is a tenant in the list.
type row struct {
	Namespace, Name, UID string
	Registry, Template   string
	State                standing.State
	Ready, Desired       int32
	Failed               int32
	// Says is what is in the way.
	Says    string
	Address string
}

// rowOf says how a tenant stands, and what is in its way.
func rowOf(t *tenantv1.Tenant) row {
	r := row{Namespace: t.Namespace, Name: t.Name, UID: t.Spec.UID, Registry: t.Registry(), Template: t.Spec.TemplateRef, Ready: t.Status.ReadyResources,
		Desired: t.Status.DesiredResources, Failed: t.Status.FailedResources, Address: site.Path("tenants", t.Namespace, t.Name)}
	r.State, r.Says = standing.OfConditions(t, t.Status.Conditions, false)
	if r.State == standing.Failed && t.Status.FailedResources == 0 {
		r.State = standing.Waiting
	}
	if r.State != standing.Ready && len(t.Status.Waiting) > 0 {
		const named = 3
		var words []string
		for _, w := range t.Status.Waiting[:min(named, len(t.Status.Waiting))] {
			words = append(words, w.ID+": "+cmp.Or(w.Message, w.Reason))
		}
		r.Says = strings.Join(words, "; ")
		if more := len(t.Status.Waiting) - named; more > 0 {
			r.Says += fmt.Sprintf("; and %d more", more)
		}
	}
	return r
}

// rowsOf are the rows of the list, those first that need somebody. Words of the query are parts of
// names, or registry:, template:, state: and namespace: with a value.
func rowsOf(tenants []*tenantv1.Tenant, query string) []row {
	var rows []row
	for _, t := range tenants {
		if r := rowOf(t); r.matches(query) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.State.Rank() - b.State.Rank() })
	return rows
}

func (r row) matches(query string) bool {
	for word := range strings.FieldsSeq(query) {
		field, value, narrow := strings.Cut(word, ":")
		has := strings.Contains(strings.ToLower(r.Namespace+"/"+r.Name+" "+r.UID), strings.ToLower(word))
		if narrow {
			switch field {
			case "registry":
				has = r.Registry == value
			case "template":
				has = r.Template == value
			case "state", "status":
				has = string(r.State) == value
			case "namespace", "ns":
				has = r.Namespace == value
			}
		}
		if !has {
			return false
		}
	}
	return true
}
