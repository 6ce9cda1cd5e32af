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
