// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ownerlabels

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

func acme() *tenantv1.Tenant {
	return &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "acme-web", UID: "u1"}}
}

func inNamespace(namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName("c")
	u.SetNamespace(namespace)
	return u
}

func TestObjectsSayWhoseTheyAre(t *testing.T) {
	for sentence, c := range map[string]struct {
		namespace string
		policy    tenantv1.DeletionPolicy
		away      bool
		reference bool
	}{
		"beside the tenant, to go with it: an owner reference": {"shop", tenantv1.DeletionPolicyDelete, false, true},
		"without a policy: the same":                           {"shop", "", false, true},
		"to stay: labels":                                      {"shop", tenantv1.DeletionPolicyRetain, false, false},
		"in another namespace: labels":                         {"other", tenantv1.DeletionPolicyDelete, false, false},
		"of a kind without namespaces: labels":                 {"", tenantv1.DeletionPolicyDelete, false, false},
		"in another cluster: labels":                           {"shop", tenantv1.DeletionPolicyDelete, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := inNamespace(c.namespace)
			u.SetLabels(map[string]string{tenantv1.LabelTenant: "somebody", tenantv1.LabelTenantNamespace: "else"})
			at := Marks{Tenant: acme()}
			if c.away {
				at.Away, at.Seal = true, "h1"
			}
			at.Write(u, &tenantv1.TResource{DeletionPolicy: c.policy})
			_, labelled := labelledOwner(u)
			if got := len(u.GetOwnerReferences()) == 1; got != c.reference || labelled == c.reference {
				t.Errorf("owner references %v, labels %v", u.GetOwnerReferences(), u.GetLabels())
			}
			if !at.Ours(u) {
				t.Error("it is not ours")
			}
			if diff := cmp.Diff([]owned.Owner{{Namespace: "shop", Name: "acme-web"}}, OwnersOf(u)); diff != "" {
				t.Error(diff)
			}
			if u.GetAnnotations()[tenantv1.AnnotationCreatedOnce] != "" {
				t.Error("it says that it is made once")
			}
		})
	}
	once := inNamespace("shop")
	Marks{Tenant: acme()}.Write(once, &tenantv1.TResource{CreationPolicy: tenantv1.CreationPolicyOnce})
	if once.GetAnnotations()[tenantv1.AnnotationCreatedOnce] != "true" {
		t.Error("it does not say that it is made once")
	}
}

func TestWhoElseHasAnObject(t *testing.T) {
	dead := owned.Owner{Namespace: "shop", Name: "dead-web"}
	lives := func(o owned.Owner) bool { return o != dead }
	tenant := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: tenantv1.GroupVersion.String(), Kind: "Tenant", Name: name, UID: "u2", Controller: ptr.To(true)}
	}
	for sentence, c := range map[string]struct {
		refs   []metav1.OwnerReference
		labels map[string]string
		want   string
	}{
		"nobody":                          {},
		"ourselves":                       {refs: []metav1.OwnerReference{ownerReference(acme())}},
		"another tenant beside it":        {refs: []metav1.OwnerReference{tenant("beta-web")}, want: "Tenant shop/beta-web"},
		"a tenant that is gone":           {refs: []metav1.OwnerReference{tenant("dead-web")}},
		"another tenant of elsewhere":     {labels: map[string]string{tenantv1.LabelTenant: "beta-web", tenantv1.LabelTenantNamespace: "other"}, want: "Tenant other/beta-web"},
		"a controller":                    {refs: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u3", Controller: ptr.To(true)}}, want: "Deployment d"},
		"an owner that controls it not":   {refs: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u3"}}},
		"a Tenant of somebody else's API": {refs: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Tenant", Name: "x", UID: "u4", Controller: ptr.To(true)}}, want: "Tenant x"},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := inNamespace("shop")
			u.SetOwnerReferences(c.refs)
			u.SetLabels(c.labels)
			if got := (Marks{Tenant: acme(), Lives: lives}).Holder(u); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestWhatIsLetGoKeepsItsOtherOwners(t *testing.T) {
	u := inNamespace("shop")
	u.SetUID("o1")
	u.SetOwnerReferences([]metav1.OwnerReference{ownerReference(acme()), {APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u3", Controller: ptr.To(false)}})
	got := Marks{Tenant: acme()}.Orphan(u, tenantv1.OrphanedRemoved, time.Unix(0, 0))
	want := map[string]any{"metadata": map[string]any{
		"uid":             types.UID("o1"),
		"ownerReferences": []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u3", Controller: ptr.To(false)}},
		"labels":          map[string]any{"kubernetes-tenants.org/orphaned": "true", "kubernetes-tenants.org/tenant": nil, "kubernetes-tenants.org/tenant-namespace": nil},
		"annotations":     map[string]any{"kubernetes-tenants.org/orphaned-at": "1970-01-01T00:00:00Z", "kubernetes-tenants.org/orphaned-reason": "RemovedFromTemplate"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsTakenBackSaysWhoseItIs(t *testing.T) {
	u := inNamespace("shop")
	u.SetUID("o1")
	u.SetLabels(map[string]string{tenantv1.LabelOrphaned: "true"})
	manifest := inNamespace("shop")
	manifest.SetLabels(map[string]string{tenantv1.LabelUID: "acme", "app": "web"})
	mine := Marks{Tenant: acme()}
	mine.Write(manifest, &tenantv1.TResource{})
	got, _ := mine.Adopt(u, manifest)["metadata"].(map[string]any)
	if diff := cmp.Diff([]metav1.OwnerReference{ownerReference(acme())}, got["ownerReferences"]); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{tenantv1.LabelOrphaned: nil, tenantv1.LabelUID: "acme", tenantv1.LabelTenant: nil, tenantv1.LabelTenantNamespace: nil, tenantv1.LabelHome: nil}
	if diff := cmp.Diff(want, got["labels"]); diff != "" {
		t.Error(diff)
	}
	// Owner references of other tenants are removed, all others stay.
	other := ownerReference(&tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "beta-web", UID: "u2"}})
	deployment := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u3"}
	u.SetOwnerReferences([]metav1.OwnerReference{other, deployment})
	got, _ = mine.Adopt(u, manifest)["metadata"].(map[string]any)
	if diff := cmp.Diff([]metav1.OwnerReference{ownerReference(acme()), deployment}, got["ownerReferences"]); diff != "" {
		t.Error(diff)
	}
}

func TestWhoHadAnObjectBefore(t *testing.T) {
	manifest := inNamespace("shop")
	manifest.SetLabels(map[string]string{tenantv1.LabelUID: "acme"})
	lives := func(o owned.Owner) bool { return o.Name != "dead-web" }
	for sentence, c := range map[string]struct {
		labels, annotations map[string]string
		managers            []string
		want                string
	}{
		"somebody whom nobody knows":               {want: "an unknown client, which created it before the tenant"},
		"somebody who has written it":              {managers: []string{"kubectl-create", "kubectl-create", "helm"}, want: "kubectl-create, helm, which created it before the tenant"},
		"nobody: the tenant left it behind":        {labels: map[string]string{tenantv1.LabelOrphaned: "true", tenantv1.LabelUID: "acme"}, managers: []string{"tenant-operator"}},
		"nobody: an older release left it behind":  {labels: map[string]string{tenantv1.LabelOrphaned: "true"}},
		"another tenant, which left it behind":     {labels: map[string]string{tenantv1.LabelOrphaned: "true", tenantv1.LabelUID: "beta"}, want: "nobody: the tenant beta left it behind"},
		"nobody: a tenant that is gone made it":    {labels: map[string]string{tenantv1.LabelTenant: "dead-web", tenantv1.LabelTenantNamespace: "shop"}},
		"a tenant that is there":                   {labels: map[string]string{tenantv1.LabelTenant: "beta-web", tenantv1.LabelTenantNamespace: "shop"}, want: "Tenant shop/beta-web"},
		"nobody: it was made once, by an operator": {annotations: map[string]string{tenantv1.AnnotationCreatedOnce: "true"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := inNamespace("shop")
			u.SetLabels(c.labels)
			u.SetAnnotations(c.annotations)
			var fields []metav1.ManagedFieldsEntry
			for _, m := range c.managers {
				fields = append(fields, metav1.ManagedFieldsEntry{Manager: m}, metav1.ManagedFieldsEntry{Manager: "a-controller", Subresource: "status"})
			}
			u.SetManagedFields(fields)
			if got := (Marks{Tenant: acme(), Lives: lives}).Foreign(u, manifest); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	manifest := inNamespace("shop")
	manifest.SetLabels(map[string]string{tenantv1.LabelUID: "acme"})
	home := Marks{Tenant: acme()}
	home.Write(manifest, &tenantv1.TResource{DeletionPolicy: tenantv1.DeletionPolicyRetain})
	o := manifest.DeepCopy()
	if !home.Marked(o, manifest) {
		t.Error("a marked object is not recognized")
	}
	// The garbage collector would delete a retained object.
	o.SetOwnerReferences([]metav1.OwnerReference{ownerReference(acme())})
	if home.Marked(o, manifest) {
		t.Error("a retained object may have an owner reference")
	}
}

// Two servers may have tenants of one name with objects in one cluster. Neither may adopt or delete
// the other's.
func TestTenantsOfAnotherServerAreOthers(t *testing.T) {
	lives := func(owned.Owner) bool { return true }
	manifest := inNamespace("shop")
	manifest.SetLabels(map[string]string{tenantv1.LabelUID: "acme"})
	home, target := Marks{Tenant: acme(), Lives: lives}, Marks{Tenant: acme(), Lives: lives, Away: true, Seal: "h1"}
	others := target
	others.Seal = "h2"
	for sentence, c := range map[string]struct {
		by, at Marks
		change func(*unstructured.Unstructured)
		want   string
	}{
		"our own":                               {by: target, at: target},
		"one that another server has made":      {by: others, at: target, want: "Tenant shop/acme-web of another server"},
		"one of the cluster's own server":       {by: home, at: target, want: "Tenant acme-web of that cluster", change: ofThatCluster},
		"one of a server whose target we are":   {by: target, at: home, want: "Tenant shop/acme-web of another server"},
		"one that another server left behind":   {by: others, at: target, want: "nobody: a tenant of another server left it behind", change: leftBehind},
		"one that we left behind":               {by: target, at: target, change: leftBehind},
		"one of the cluster's own, in labels":   {by: home, at: target, want: "Tenant shop/acme-web of another server", change: inLabels},
		"one of ours that lost what tells ours": {by: target, at: target, change: func(u *unstructured.Unstructured) { u.SetLabels(nil) }, want: "an unknown client, which created it before the tenant"},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := manifest.DeepCopy()
			c.by.Write(u, &tenantv1.TResource{})
			if c.change != nil {
				c.change(u)
			}
			if got := c.at.Foreign(u, manifest); got != c.want {
				t.Errorf("it is of %q", got)
			}
			if c.want != "" && c.at.Ours(u) {
				t.Error("it counts as ours")
			}
		})
	}
}

func leftBehind(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{tenantv1.LabelUID: "acme", tenantv1.LabelOrphaned: "true", tenantv1.LabelHome: u.GetLabels()[tenantv1.LabelHome]})
}

func ofThatCluster(u *unstructured.Unstructured) {
	ref := u.GetOwnerReferences()[0]
	ref.UID = "u9"
	u.SetOwnerReferences([]metav1.OwnerReference{ref})
}

func inLabels(u *unstructured.Unstructured) {
	u.SetOwnerReferences(nil)
	u.SetLabels(map[string]string{tenantv1.LabelUID: "acme", tenantv1.LabelTenant: "acme-web", tenantv1.LabelTenantNamespace: "shop"})
}
