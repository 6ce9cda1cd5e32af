// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
)

// space is a template with a namespace of the tenant's own, and two ConfigMaps in it, one of which is to stay.
const space = `
namespaces:
- id: space
  nameTemplate: "NAMESPACE-{{ .uid }}"
  spec: {metadata: {labels: {team: a}}}
configMaps:
- id: kept
  nameTemplate: kept
  targetNamespace: "NAMESPACE-{{ .uid }}"
  deletionPolicy: Retain
  spec: {data: {plan: "{{ .plan }}"}}
- id: other
  nameTemplate: other
  targetNamespace: "NAMESPACE-{{ .uid }}"
  spec: {data: {plan: "{{ .plan }}"}}
`

// space makes a tenant of that template, and returns its namespace.
func (w *testWorld) space() string {
	w.t.Helper()
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", space)
	w.ready("acme-web")
	name := w.namespace + "-acme"
	w.t.Cleanup(func() {
		err := w.c.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreNotFound(err) != nil {
			w.t.Log(err)
		}
	})
	return name
}

// in reads a ConfigMap of a namespace; false when it is not there.
func (w *testWorld) in(namespace, name string) (*corev1.ConfigMap, bool) {
	w.t.Helper()
	other := *w
	other.namespace = namespace
	return other.configMap(name)
}

// staying reads a namespace that is there and not being deleted.
func (w *testWorld) staying(name string) (*corev1.Namespace, bool) {
	w.t.Helper()
	other := *w
	other.namespace = ""
	namespace, there := get(&other, &corev1.Namespace{}, name)
	return namespace, there && namespace.DeletionTimestamp == nil
}

func TestWhatIsToStayKeepsItsNamespace(t *testing.T) {
	w := newWorld(t)
	namespace := w.space()
	w.rows("acme,a,0,pro")
	w.eventually("the tenant is gone", func() bool { return w.names() == "" })
	o, stays := w.staying(namespace)
	if !stays || o.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue || o.Labels[tenantv1.LabelTenant] != "" {
		t.Errorf("the namespace stays: %t, with %v", stays, o.Labels)
	}
	if cm, there := w.in(namespace, "kept"); !there || cm.DeletionTimestamp != nil || cm.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue {
		t.Errorf("what is to stay is there: %t, with %v", there, cm.Labels)
	}
	if _, there := w.in(namespace, "other"); there {
		t.Error("what is to go is there")
	}
	// Both are the tenant's again when its row is back.
	w.rows("acme,a,1,gold")
	w.ready("acme-web")
	o, _ = w.staying(namespace)
	if cm, _ := w.in(namespace, "kept"); cm.Data["plan"] != "gold" || cm.Labels[tenantv1.LabelOrphaned] != "" || o.Labels[tenantv1.LabelOrphaned] != "" {
		t.Errorf("there is %v with %v, in a namespace with %v", cm.Data, cm.Labels, o.Labels)
	}
}

func TestANamespaceStaysAsLongAsObjectsAreMadeInIt(t *testing.T) {
	w := newWorld(t)
	namespace := w.space()
	_, objects, _ := strings.Cut(space, "configMaps:")
	w.template("web", "configMaps:"+objects)
	w.eventually("the tenant says why it stays", func() bool { return waits(w.tenant("acme-web"), "space", WaitLeaving) })
	w.quiet()
	if _, stays := w.staying(namespace); !stays {
		t.Fatal("the namespace goes with what the template has in it")
	}
	w.template("web", strings.ReplaceAll(oneConfigMap, "settings", "rest"))
	w.eventually("what is to stay is left behind, with its namespace", func() bool {
		o, stays := w.staying(namespace)
		_, other := w.in(namespace, "other")
		return stays && o.Labels[tenantv1.LabelOrphaned] == tenantv1.ValueTrue && !other && len(w.tenant("acme-web").Status.Inventory) == 1
	})
}

// The policy on record is that of the last pass. The tenant may be told to go before there is another one.
func TestWhatIsToStayByNowStays(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", oneConfigMap)
	tenant := w.ready("acme-web").DeepCopy()
	w.quiet()
	tenant.Spec.ConfigMaps[0].DeletionPolicy = tenantv1.DeletionPolicyRetain
	p := &pass{obj: tenant, plan: makePlan(tenant), home: w.r.tenants.clusters.home, memory: newMemory(tenant.UID)}
	entries := slices.Clone(tenant.Status.Inventory)
	facts, err := w.r.tenants.made(t.Context(), p, entries)
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
	// What is gone, or is somebody's to delete, keeps nothing.
	for _, change := range []func(*decide.Made){func(m *decide.Made) { m.Exists = false }, func(m *decide.Made) { m.Deleting = true }} {
		facts := []decide.Made{{Exists: true, Retain: true}, {Exists: true}}
		change(&facts[0])
		p.keepHolders([]tenantv1.AppliedResource{entries[0], entries[3]}, facts)
		if facts[1].Retain {
			t.Errorf("the Secret stays for %+v", facts[0])
		}
	}
}

// Whoever names the same cluster by another kubeconfig keeps what is there.
func TestWhatHasAnotherNameIsNotDeleted(t *testing.T) {
	id := owned.ID{GroupKind: secretKind, Namespace: "a", Name: "x"}
	meta := func(uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	}
	now := &cluster{name: "new"}
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
		t.Error("what has the same name is not elsewhere")
	}
}
