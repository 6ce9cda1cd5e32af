// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// rolling is a registry with one row, one template and their tenant.
type rolling struct {
	p        *pass
	template *tenantv1.TenantTemplate
	tenant   *tenantv1.Tenant
}

func settings(id string) tenantv1.TResource {
	return tenantv1.TResource{ID: id, NameTemplate: "{{ .uid }}-" + id, Spec: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"creationTimestamp": nil}, "data": map[string]any{"plan": "{{ .plan }}"}}}}
}

func newRolling(t *testing.T, objects int) *rolling {
	t.Helper()
	l := newLedger()
	name := types.NamespacedName{Namespace: "shop", Name: "customers"}
	w := &rolling{template: &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "t", Generation: 3}}}
	for i := range objects {
		w.template.Spec.ConfigMaps = append(w.template.Spec.ConfigMaps, settings(fmt.Sprintf("c%d", i)))
	}
	of := &row.Row{UID: "acme", SafeUID: "acme", HostOrURL: "a", Activate: "1", Active: true, Extra: map[string]string{"plan": "pro"}}
	w.p = &pass{name: name, account: l.of(name), pools: allocate.New(), rows: map[string]*row.Row{"acme": of}, broken: map[string]string{},
		unmade: map[string]map[string]string{}, tried: map[string]bool{}, templates: map[string]*tenantv1.TenantTemplate{"web": w.template}}
	w.p.account.good = &reading{digests: map[string]string{"acme": rowDigest(of)}, rows: []row.Row{*of}}
	made, err := (&Controller{Findings: passes.NewFindings()}).want(w.p, w.template, of, &tenantv1.Tenant{ObjectMeta: objectMeta("acme-web", "1", "u")})
	if err != nil {
		t.Fatal(err)
	}
	made.Status.ObservedGeneration = 1
	w.tenant, w.p.tenants = made, map[string]*tenantv1.Tenant{"acme-web": made}
	return w
}

func (w *rolling) existing() decide.Existing {
	return (&Controller{Findings: passes.NewFindings()}).existing(w.p, w.tenant, true)
}

func TestWhatATenantIsMadeOf(t *testing.T) {
	made := newRolling(t, 1).tenant
	if made.Spec.UID != "acme" || made.Spec.TemplateRef != "web" || made.Labels[tenantv1.LabelUID] != "acme" || made.Labels[tenantv1.LabelRegistry] != "customers" ||
		made.Annotations[tenantv1.AnnotationTemplateGeneration] != "3" || made.Annotations[tenantv1.AnnotationHostOrURL] != "a" || len(made.Finalizers) != 1 {
		t.Errorf("it is %+v", made)
	}
}

func TestWhatHasChangedAboutATenant(t *testing.T) {
	for sentence, c := range map[string]struct {
		change           func(*rolling)
		values, template bool
	}{
		"nothing":                         {func(*rolling) {}, true, true},
		"its template has":                {func(w *rolling) { w.template.Generation = 4 }, true, false},
		"its row has":                     {func(w *rolling) { w.p.rows["acme"].Extra["plan"] = "free" }, false, true},
		"somebody has taken a label away": {func(w *rolling) { delete(w.tenant.Labels, tenantv1.LabelUID) }, false, true},
		"its template was deleted and made again: the first generation is another one": {func(w *rolling) {
			w.template.UID = "other"
			w.template.Spec.ConfigMaps = append(w.template.Spec.ConfigMaps, settings("more"))
		}, true, false},
		"a patch has taken nulls away": {func(w *rolling) {
			delete(w.tenant.Spec.ConfigMaps[0].Spec.Object["metadata"].(map[string]any), "creationTimestamp")
		}, true, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newRolling(t, 1)
			c.change(w)
			if e := w.existing(); e.ValuesCurrent != c.values || e.TemplateCurrent != c.template || e.Broken || e.Refused {
				t.Errorf("recorded as %+v", e)
			}
		})
	}
}

func TestATenantThatTheAPIDidNotTakeIsKnown(t *testing.T) {
	w := newRolling(t, 1)
	w.template.Generation = 4
	w.p.account.refused["changed acme-web"] = &passes.Refusal{Digest: w.p.keyOf(w.template, w.p.rows["acme"])}
	for range 2 { // the second pass uses the memory of the first
		if !w.existing().Refused {
			t.Error("it is not")
		}
	}
	if w.template.Generation = 5; w.existing().Refused {
		t.Error("another template was not refused")
	}
}

// Unrecorded objects must not be forgotten. If they are recorded first, a smaller template is the
// fix.
func TestWhoGetsATemplateBeforeAnythingIsOnRecord(t *testing.T) {
	for sentence, c := range map[string]struct {
		objects int
		change  func(*rolling)
		want    int
	}{
		"all is on record":        {1, func(*rolling) {}, 1},
		"its spec is the record":  {1, func(w *rolling) { w.tenant.Status.ObservedGeneration = 0 }, 0},
		"the record could not be": {passes.MaxUnrecorded + 1, func(w *rolling) { w.tenant.Status.ObservedGeneration = 0 }, 1},
		"the record is made at once": {1, func(w *rolling) {
			w.tenant.Status.ObservedGeneration, w.tenant.Spec.KubeConfig = 0, &meta.KubeConfigReference{}
		}, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newRolling(t, c.objects)
			c.change(w)
			w.template.Generation = 4
			for _, only := range []bool{false, true} {
				w.p.decision.Update = []decide.Update{{Tenant: "acme-web", ValuesOnly: only}}
				if got := len((&Controller{Findings: passes.NewFindings()}).updates(w.p, nil)); got != c.want {
					t.Errorf("%d are changed (only the values: %t)", got, only)
				}
			}
		})
	}
}

// Without the finalizer the garbage collector would begin.
func TestARegistryStaysAsLongAsTenantsWouldGoWithIt(t *testing.T) {
	leaving := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Name: "customers", UID: "r", Finalizers: []string{tenantv1.PublishedRegistryFinalizer}, DeletionTimestamp: ptr.To(metav1.Now())}}
	its := &tenantv1.Tenant{ObjectMeta: objectMeta("acme-web", "1", "u")}
	its.OwnerReferences = []metav1.OwnerReference{{Kind: tenantv1.TenantRegistryKind, Name: "customers", UID: "r"}}
	// Without a client it cannot remove it.
	if err := (&Controller{}).release(t.Context(), &pass{leaving: leaving, tenants: map[string]*tenantv1.Tenant{"acme-web": its}}); err != nil {
		t.Error(err)
	}
}
