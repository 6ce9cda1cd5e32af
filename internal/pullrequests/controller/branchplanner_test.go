// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func TestTheConfigMapOfABranchPlanner(t *testing.T) {
	config := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: branchPlanner}, Data: data}
	}
	for sentence, c := range map[string]struct {
		data   map[string]string
		stacks []yubav1.PullRequestStackReference
		secret string
	}{
		"nothing: all stacks of the namespace": {nil, []yubav1.PullRequestStackReference{{Namespace: "flux-system"}}, "branch-planner-token"},
		"a namespace and a stack": {map[string]string{"secretName": "bp-token", "secretNamespace": "flux-system", "resources": "- namespace: terraform\n- namespace: infra\n  name: vpc\n"},
			[]yubav1.PullRequestStackReference{{Namespace: "terraform"}, {Namespace: "infra", Name: "vpc"}}, "bp-token"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := branchPlannerSpec(config(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.stacks, got.Stacks); diff != "" {
				t.Error(diff)
			}
			if got.Forge.SecretRef.Name != c.secret || got.Interval.Duration != 30*time.Second || got.Merge.ApproveReviewed {
				t.Errorf("it is %+v", got)
			}
		})
	}
	for _, data := range []map[string]string{{"secretNamespace": "other"}, {"resources": "- {"}, {"resources": "word"}} {
		if _, err := branchPlannerSpec(config(data)); err == nil {
			t.Errorf("%v is accepted", data)
		}
	}
}
