// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// An upgrade that changes the runners lets the old ones finish their runs, and gives them no other.
func TestAnUpgradeLetsRunsFinish(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	before := tm.onlyPod()
	setValues(t, "runner.resources.requests.memory=\"33Mi\"")
	t.Cleanup(func() { setValues(t, "runner.resources.requests.memory=\"32Mi\"") })
	obj := tm.await("slow", "it is applied", applied)
	if obj.Status.LastRun.ID != began || obj.Status.LastRun.Status != string(run.OutcomeSucceeded) {
		t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
	}
	tm.deploy("next", small, nil)
	tm.await("next", "another Pod applies it", func(obj *infrav1.Terraform) string {
		if missing := applied(obj); missing != "" {
			return missing
		}
		for _, p := range tm.pods() {
			if p.UID == before.UID {
				return "Pod " + p.Name + " is still there"
			}
		}
		return ""
	})
}

// Where Yuba works in some namespaces only, it has no rights in others, and leaves their stacks alone.
func TestSomeNamespacesOnly(t *testing.T) {
	watched, other := newTeam(t, false), newTeam(t, false)
	setValues(t, `watchNamespaces=["`+watched.name+`"]`)
	t.Cleanup(func() { setValues(t, "watchNamespaces=[]") })
	other.deploy("one", small, nil)
	watched.deploy("one", small, nil)
	watched.await("one", "it is applied", applied)
	if obj := other.stack("one"); len(obj.Finalizers) != 0 || len(obj.Status.Conditions) != 0 {
		t.Errorf("a stack of another namespace was touched: %+v", obj)
	}
	account := "system:serviceaccount:" + system + ":yuba"
	for namespace, want := range map[string]bool{watched.name: true, other.name: false} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Resource: "secrets"}}}
		review, err := raw.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		must(t, err)
		if review.Status.Allowed != want {
			t.Errorf("Yuba may read Secrets of %s: %v, want %v", namespace, review.Status.Allowed, want)
		}
	}
	setValues(t, "watchNamespaces=[]")
	other.await("one", "it is applied once all namespaces are watched", applied)
}

// The chart's own test passes.
func TestHelmTest(t *testing.T) {
	do(t, "", "helm", "test", "yuba", "--namespace", system, "--timeout", "1m")
}
