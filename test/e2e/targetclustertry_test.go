// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const aDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: app
        env:
        - {name: X, valueFrom: {secretKeyRef: {name: outputs, key: host}}}
`

// tryTarget checks that the target cluster behaves like one: a Deployment of apps/v1 becomes ready,
// and one that is created too early is recorded.
func tryTarget(t *testing.T, target *targetCluster) {
	const namespace = "trial"
	if err := target.client.Create(t.Context(), namespaceObject(namespace)); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(target.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(aDeployment), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(namespace)
	data, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Patch(t.Context(), o, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("tenant-operator")); err != nil {
		t.Fatal(err)
	}
	said := ""
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := outside.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		if said = fmt.Sprint(o.GetAPIVersion(), " ", ready); said == "apps/v1 2" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Deployment is %s", said)
		}
	}
	if blamed := strings.Join(target.blamed(namespace), "\n"); !strings.Contains(blamed, "the key host of the Secret outputs") {
		t.Errorf("it was there before its Secret, and nobody says so: %s", blamed)
	}
	if err := outside.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := target.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "app"}, newDeployment()); !apierrors.IsNotFound(err) {
		t.Errorf("it is left: %v", err)
	}
}
