// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// held are the prunes and the deletions of tenants that wait for a confirmation.
func held(w *world) []entry {
	var all []entry
	for i := range w.kustomizations {
		if e, ok := prune(w.kustomizations[i]); ok {
			all = append(all, e)
		}
	}
	for i := range w.registries {
		if e, ok := deletion(w.registries[i]); ok {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID)) })
	return all
}

func prune(k *kustomizev1.Kustomization) (entry, bool) {
	revision, c := standing.HeldPrune(k)
	if revision == "" {
		return entry{}, false
	}
	b := site.Button{Label: "Confirm the pruning", Address: site.Path("sources", "kustomization", k.Namespace, k.Name, "confirm"), Danger: true, Key: "a", Confirm: fmt.Sprintf("Delete these objects of %s/%s, for revision %s? %s", k.Namespace, k.Name, revision, first(c.Message)),
		Values: []site.Value{{Name: "revision", Value: revision}}}
	return entry{ID: idOf("prune", k.Namespace, k.Name), Title: "Kustomization " + k.Namespace + "/" + k.Name, Word: string(standing.Pending), Text: first(c.Message), Rest: rest(c.Message),
		Since: c.LastTransitionTime.Time, Buttons: []button{{b, access.Right{Verb: "patch", Group: kustomizev1.GroupVersion.Group, Resource: "kustomizations", Namespace: k.Namespace}}}}, true
}

func deletion(g *tenantv1.TenantRegistry) (entry, bool) {
	h := standing.HeldDeletion(g)
	if h == nil {
		return entry{}, false
	}
	names := strings.Join(h.Tenants, ", ")
	if more := int(h.Count) - len(h.Tenants); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	b := site.Button{Label: fmt.Sprintf("Delete %d tenants", h.Count), Address: site.Path("tenants", "registries", g.Namespace, g.Name, "confirm"), Danger: true, Key: "a",
		Confirm: fmt.Sprintf("Delete %d tenants of %s/%s with their objects, unless their deletionPolicy is Retain? There is no undo. %s", h.Count, g.Namespace, g.Name, names),
		Values:  []site.Value{{Name: "id", Value: h.ID}}}
	since := time.Time{}
	if h.Since != nil {
		since = h.Since.Time
	}
	return entry{ID: idOf("tenants", g.Namespace, g.Name), Title: "TenantRegistry " + g.Namespace + "/" + g.Name, Word: string(standing.Pending),
		Text: cmp.Or(first(h.Message), "A deletion is held."), Rest: names, Since: since,
		Buttons: []button{{b, access.Right{Verb: "patch", Group: tenantv1.GroupVersion.Group, Resource: "tenantregistries", Namespace: g.Namespace}}}}, true
}

// outages are the open circuit breakers.
func outages(w *world) []entry {
	var all []entry
	for _, c := range w.circuits {
		if c.Status.State != yubav1.StateOpen && c.Status.State != yubav1.StateHalfOpen {
			continue
		}
		message, since := "", time.Time{}
		if r := meta.FindStatusCondition(c.Status.Conditions, "Ready"); r != nil {
			message = r.Message
		}
		if c.Status.OpenedAt != nil {
			since = c.Status.OpenedAt.Time
		}
		label, confirm := "Close", fmt.Sprintf("Close circuit breaker %s? Yuba retries the stacks that it paused, and applies again.", c.Name)
		if c.Spec.Mode == yubav1.ModeOpen {
			label, confirm = "Resume", fmt.Sprintf("Resume circuit breaker %s? It opens and closes by itself again, and pauses stacks only during an outage.", c.Name)
		}
		b := site.Button{Label: label, Address: site.Path("operations", "circuits", c.Name, "resume"), Values: []site.Value{{Name: "mode", Value: string(c.Spec.Mode)}}, Confirm: confirm}
		all = append(all, entry{ID: "circuit-" + c.Name, Title: "CircuitBreaker " + c.Name, Word: string(standing.Waiting), Text: cmp.Or(first(message), string(c.Status.State)),
			Rest: outageDetails(c), Since: since, Links: []site.Link{{Text: "Its failures by cause", Address: "/causes"}},
			Buttons: []button{{b, access.Right{Verb: "patch", Group: yubav1.GroupVersion.Group, Resource: "circuitbreakers"}}}})
	}
	return all
}

func outageDetails(c *yubav1.CircuitBreaker) string {
	var lines []string
	if s := c.Status; s.Affected > 0 {
		lines = append(lines, fmt.Sprintf("%d stacks failed for this reason, among them %s", s.Affected, strings.Join(s.Stacks[:min(len(s.Stacks), 20)], ", ")))
	}
	if c.Status.Sample != "" {
		lines = append(lines, c.Status.Sample)
	}
	return rest("\n" + strings.Join(lines, "\n"))
}

// needsManualWork reports whether a stack needs what no button does.
func needsManualWork(t *infrav1.Terraform) bool {
	r := ready(t)
	if !t.DeletionTimestamp.IsZero() && r.Status != metav1.ConditionFalse {
		return false
	}
	switch r.Reason {
	case infrav1.ReasonBreakTheGlass, infrav1.ReasonBackendChanged, infrav1.ReasonStateMissing, infrav1.ReasonStateUnreadable, infrav1.ReasonLockHeld:
		return true
	}
	return glass(t) || conditionOf(t, infrav1.ConditionUnproven).Status == metav1.ConditionTrue
}

func glass(t *infrav1.Terraform) bool {
	return t.Spec.BreakTheGlass || t.Annotations[infrav1.AnnotationBreakTheGlass] != ""
}

// manualWork says what a stack needs.
func manualWork(t *infrav1.Terraform) (text, more string) {
	r := ready(t)
	switch {
	case glass(t) || r.Reason == infrav1.ReasonBreakTheGlass:
		if since := t.Annotations[infrav1.AnnotationBreakTheGlass]; since != "" {
			more = "Requested at " + since + "\n"
		}
		return "Somebody works on it manually (break the glass). Yuba starts no runs until that is taken back.", strings.TrimSpace(more + r.Message)
	case r.Reason == infrav1.ReasonBackendChanged, r.Reason == infrav1.ReasonStateMissing, r.Reason == infrav1.ReasonStateUnreadable, r.Reason == infrav1.ReasonLockHeld:
		return first(r.Message), rest(r.Message)
	}
	unproven := conditionOf(t, infrav1.ConditionUnproven)
	return first(unproven.Message), rest(unproven.Message)
}

func manualEntries(stacks []*infrav1.Terraform) []entry {
	all := make([]entry, 0, len(stacks))
	for _, t := range stacks {
		text, more := manualWork(t)
		all = append(all, entry{ID: idOf("manual", t.Namespace, t.Name), Title: title(t), Address: site.Path("stacks", t.Namespace, t.Name), Word: string(standing.Of(t)),
			Text: text, Rest: more, Since: standing.Since(t).Time, Select: acts.RowOf(t).String()})
	}
	return all
}
