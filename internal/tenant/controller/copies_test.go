// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/owned"
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

// An application needs the Secrets, too, with which its account pulls images.
func TestWhatACopyNeedsIsCopied(t *testing.T) {
	home, target := &cluster{}, &cluster{name: "production"}
	of := func(at *cluster, text string) *item {
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
