// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// An administrator deletes the readers' binding to limit who reads modules. Runs must not download
// public providers elsewhere because of that, and a deleted binding stays deleted.
func TestWithoutTheReadersBindingTheMirrorStaysReadable(t *testing.T) {
	api, err := kubernetes.NewForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	mayRead := func(resource string) bool {
		t.Helper()
		review, err := api.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:shop:tf-runner", Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "content.yuba.dev", Resource: resource, Verb: "get", Name: "any"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	let := func() {
		t.Helper()
		if err := letEverybodyRead(t.Context(), api); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want map[string]bool) {
		t.Helper()
		for resource, may := range want {
			awaits(t, when+": "+resource, func() bool { return mayRead(resource) == may })
		}
	}
	let()
	expect("everybody reads", map[string]bool{"modules": true, "providers": true, "signingkeys": true, "mirror": true})
	for _, step := range []struct {
		binding string
		want    map[string]bool
	}{
		{registryReader, map[string]bool{"modules": false, "providers": false, "signingkeys": false, "mirror": true}},
		{mirrorReader, map[string]bool{"modules": false, "mirror": false}},
	} {
		if err := api.RbacV1().ClusterRoleBindings().Delete(t.Context(), step.binding, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		let()
		expect("without "+step.binding, step.want)
	}
}
