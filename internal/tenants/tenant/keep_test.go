// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// The recorded policy is the last pass's. The tenant may be deleted before the next pass.
func TestWhatIsToStayByNowStays(t *testing.T) {
	w := newWorld(t)
	tenant := w.made()
	tenant.Spec.ConfigMaps[0].DeletionPolicy = tenantv1.DeletionPolicyRetain
	p := &pass{obj: tenant, plan: makePlan(tenant), home: w.r.Clusters.Home, memory: newMemory(tenant.UID)}
	entries := slices.Clone(tenant.Status.Inventory)
	facts, err := w.r.made(t.Context(), p, entries)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts) != 1 || !facts[0].Retain || entries[0].DeletionPolicy != tenantv1.DeletionPolicyRetain {
		t.Errorf("it is %+v, and on record as %+v", facts, entries)
	}
}

func TestWhatRunsElsewhereKeepsWhatWasCopiedForIt(t *testing.T) {
	entry := func(id, cluster, kind, namespace, name string) tenantv1.AppliedResource {
		return tenantv1.AppliedResource{ID: id, APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, KubeConfig: cluster}
	}
	entries := []tenantv1.AppliedResource{
		entry("app", "prod", "Pod", "a", "app"), entry("job", "prod", "Pod", "b", "job"), entry("web", "", "Pod", "a", "web"),
		entry(copiesID, "prod", "Secret", "a", "outputs"), entry(copiesID, "prod", "Secret", "b", "outputs"),
		entry(copiesID, "prod", "Namespace", "", "a"), entry(copiesID, "prod", "Namespace", "", "b"), entry(copiesID, "other", "Secret", "a", "outputs"),
		entry("settings", "prod", "ConfigMap", "a", "settings"), entry("space", "", "Namespace", "", "a"),
	}
	facts := make([]decide.Made, len(entries))
	for i := range facts {
		facts[i].Exists = true
	}
	facts[0].Retain = true
	p := &pass{plan: &plan{}}
	p.keepHolders(entries, facts)
	var stay []string
	for i, e := range entries {
		if facts[i].Retain != (e.DeletionPolicy == tenantv1.DeletionPolicyRetain) && i > 0 {
			t.Errorf("%s of %s is on record as %q", e.ID, e.KubeConfig, e.DeletionPolicy)
		}
		if facts[i].Retain {
			stay = append(stay, e.ID+" "+owned.Name(refOf(&e).ID)+" "+e.KubeConfig)
		}
	}
	if len(stay) != 3 || !slices.Contains(stay, "(copied) "+owned.Name(refOf(&entries[3]).ID)+" prod") || !slices.Contains(stay, "(copied) "+owned.Name(refOf(&entries[5]).ID)+" prod") {
		t.Errorf("these stay: %q", stay)
	}
	// Objects that are gone, or that others may delete, retain nothing.
	for _, change := range []func(*decide.Made){func(m *decide.Made) { m.Exists = false }, func(m *decide.Made) { m.Deleting = true }} {
		facts := []decide.Made{{Exists: true, Retain: true}, {Exists: true}}
		change(&facts[0])
		p.keepHolders([]tenantv1.AppliedResource{entries[0], entries[3]}, facts)
		if facts[1].Retain {
			t.Errorf("the Secret stays for %+v", facts[0])
		}
	}
}

// Another kubeconfig for the same cluster keeps its objects.
func TestWhatHasAnotherNameIsNotDeleted(t *testing.T) {
	id := owned.ID{GroupKind: secretKind, Namespace: "a", Name: "x"}
	meta := func(uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	}
	now := &targets.Cluster{Name: "new"}
	m := newMemory("")
	copied := owned.Ref{ID: owned.ID{GroupKind: secretKind, Namespace: "a", Name: "outputs"}, Version: "v1"}
	m.copies[place{"new", copied.ID}] = duplicate{print: &owned.Print{UID: "3"}}
	m.copies[place{"old", copied.ID}] = duplicate{print: &owned.Print{UID: "4"}}
	p := &pass{memory: m, items: []*item{
		{id: "seen", cluster: now, ref: owned.Ref{ID: id}, live: meta("1"), copies: []owned.Ref{copied}},
		{id: "written", cluster: now, ref: owned.Ref{ID: id}, known: &left{print: owned.Print{UID: "2"}, readiness: ready.Readiness{}}},
		{id: "broken", cluster: now, broken: "yes", live: meta("5")},
	}}
	old := tenantv1.AppliedResource{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "x", KubeConfig: "old"}
	for uid, want := range map[types.UID]bool{"1": true, "2": true, "3": true, "4": false, "5": false, "6": false} {
		if got := p.hasElsewhere(&old, uid); got != want {
			t.Errorf("the object %s is had elsewhere: %t", uid, got)
		}
	}
	same := old
	same.KubeConfig = "new"
	if p.hasElsewhere(&same, "1") {
		t.Error("an object under its own cluster name counts as elsewhere")
	}
}
