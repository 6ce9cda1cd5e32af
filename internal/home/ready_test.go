// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	baseversion "k8s.io/component-base/version"
)

// A restart does not wait until Kubernetes' own roles were compared again. The start of another version does: it may have roles
// that are not there yet.
func TestTheStartOfAnotherVersionWaitsForItsRoles(t *testing.T) {
	const role = "system:node-proxier"
	options := testOptions(t.TempDir())
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	lose := func(client *kubernetes.Clientset, version string) {
		t.Helper()
		note := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationRoles, version)
		if _, err := client.CoreV1().Namespaces().Patch(t.Context(), metav1.NamespaceSystem, types.MergePatchType, note, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.RbacV1().ClusterRoles().Delete(t.Context(), role, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lose(clientOf(t, p), "v0.0.0-another")
	stop(t, p)

	if p, err = Start(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, p)
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{}); err != nil {
		t.Errorf("the start of another version is ready without its roles: %v", err)
	}
	system, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil || system.Annotations[annotationRoles] != baseversion.Get().GitVersion {
		t.Errorf("the version of the roles is not noted: %v, %v", system, err)
	}
	lose(client, baseversion.Get().GitVersion)
	stop(t, p)

	// A role that somebody deleted comes back a little later.
	client = clientOf(t, startIn(t, options))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := client.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			t.Fatalf("the role does not come back: %v", err)
		}
	}
}
