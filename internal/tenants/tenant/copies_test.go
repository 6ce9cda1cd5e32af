// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

func TestWhatAManifestRefersTo(t *testing.T) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: shop}
spec:
  template:
    spec:
      serviceAccountName: runner
      imagePullSecrets: [{name: pull}]
      containers:
      - name: app
        envFrom: [{secretRef: {name: outputs}}, {configMapRef: {name: settings}}]
        env:
        - {name: A, valueFrom: {secretKeyRef: {name: keys, key: a}}}
        - {name: B, valueFrom: {configMapKeyRef: {name: more, key: b}}}
      volumes:
      - {name: a, secret: {secretName: files}}
      - {name: b, configMap: {name: config}}
      - {name: c, projected: {sources: [{secret: {name: projected}}]}}
`), &u.Object); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range refersTo(u) {
		got = append(got, owned.Name(id))
	}
	slices.Sort(got)
	want := []string{"ConfigMap/shop/config", "ConfigMap/shop/more", "ConfigMap/shop/settings", "Namespace/shop", "Secret/shop/files", "Secret/shop/keys",
		"Secret/shop/outputs", "Secret/shop/projected", "Secret/shop/pull", "ServiceAccount/shop/runner"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatACopyIs(t *testing.T) {
	from := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: shop
  uid: u1
  labels: {team: a, kubernetes-tenants.org/orphaned: "true"}
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::1:role/acme
    kubernetes-tenants.org/created-once: "true"
    kubernetes-tenants.org/deletion-policy: Retain
  finalizers: [example.com/wait]
imagePullSecrets: [{name: pull}]
secrets: [{name: token-of-this-api}]
`), &from.Object); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "imagePullSecrets": []any{map[string]any{"name": "pull"}}, "metadata": map[string]any{
		"name": "app", "namespace": "shop", "labels": map[string]any{"team": "a", "kubernetes-tenants.org/uid": "acme"},
		"annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/acme"}}}
	if diff := cmp.Diff(want, copyOf(from, "acme").Object); diff != "" {
		t.Error(diff)
	}
}

// An application also needs its account's image pull Secrets.
func TestWhatACopyNeedsIsCopied(t *testing.T) {
	home, target := &targets.Cluster{}, &targets.Cluster{Name: "production"}
	of := func(at *targets.Cluster, text string) *item {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return &item{id: u.GetName(), manifest: u, ref: owned.Ref{ID: owned.IDOf(u), Version: "v1"}, cluster: at}
	}
	app := of(target, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: app, namespace: shop}, spec: {template: {spec: {serviceAccountName: account}}}}")
	p := &pass{home: home, items: []*item{app, of(home, "{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: shop}}"),
		of(home, "{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}}"),
		of(home, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: account, namespace: shop}, imagePullSecrets: [{name: pull}]}")}}
	p.linkCopies()
	var got []string
	for _, ref := range app.copies {
		got = append(got, owned.Name(ref.ID))
	}
	if diff := cmp.Diff([]string{"ServiceAccount/shop/account", "Secret/shop/pull"}, got); diff != "" {
		t.Error(diff)
	}
}

// After a restart, the status saves a request for each copy.
func TestCopiesAreRecalledFromTheStatus(t *testing.T) {
	w := newWorld(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "outputs", Labels: map[string]string{tenantv1.LabelUID: "acme"}}}
	w.must(w.c.Create(t.Context(), secret))
	home := w.r.Clusters.Home
	owner := owned.Owner{Namespace: w.namespace, Name: "acme-web"}
	w.must(home.Watch.Follow(t.Context(), owner, map[schema.GroupKind]string{secretKind: "v1"}))
	t.Cleanup(func() { home.Watch.Keep(owner, nil) })
	// The target is this API under another name.
	target := &targets.Cluster{Cluster: engine.Cluster{Watch: home.Watch}, Name: "production"}
	ref := owned.Ref{ID: owned.ID{GroupKind: secretKind, Namespace: w.namespace, Name: "outputs"}, Version: "v1"}
	at := place{"production", ref.ID}
	eventually(t, "the watch has it", func() bool { m, _ := home.Watch.Get(ref.ID); return m != nil })
	p := &pass{home: home, memory: newMemory("u"), items: []*item{{cluster: target, copies: []owned.Ref{ref}}}}
	left := owned.PrintOf(secret)
	p.memory.copies[at] = duplicate{version: p.versionHere(ref), print: &left}
	e := p.copyEntry(target, ref)
	for sentence, c := range map[string]struct {
		change func(*tenantv1.AppliedResource)
		want   bool
	}{
		"as it was left":           {func(*tenantv1.AppliedResource) {}, true},
		"ours has changed since":   {func(e *tenantv1.AppliedResource) { e.Hash = "another" }, false},
		"theirs has changed since": {func(e *tenantv1.AppliedResource) { e.Print = "another" }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			entry := e
			c.change(&entry)
			p.memory, p.entries = newMemory("u"), map[place]*tenantv1.AppliedResource{at: &entry}
			p.recallCopies()
			if got := p.isCopied(target, ref); got != c.want {
				t.Errorf("it counts as copied: %v", got)
			}
		})
	}
}
