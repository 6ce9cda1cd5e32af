// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"

	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestWhoAsksForAnApplyApprovesNothingForPolicies(t *testing.T) {
	c, ns := apitest.Client(t), apitest.Namespace(t)
	o := &infrav1.Terraform{}
	o.Namespace, o.Name = ns, "net"
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Status.Plan.Pending = "plan-7"
	o.Status.Plan.Policy = &infrav1.PolicyVerdict{Decision: infrav1.PolicyHeld, NeedsRecordedApprovals: true, JudgedAt: metav1.Now()}
	if err := c.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	// There are no policies to record it: an attempt would panic.
	err := (&pullApprovals{nil, c}).approve(t.Context(), pullrequests.Approval{Stack: types.NamespacedName{Namespace: ns, Name: "net"}, Plan: "plan-7",
		Repository: "git.example.com/acme/infra", By: []forge.User{{ID: "1", Name: "alice"}}, Asked: true})
	if err == nil || !strings.Contains(err.Error(), "review the pull request") {
		t.Errorf("got %v", err)
	}
}
