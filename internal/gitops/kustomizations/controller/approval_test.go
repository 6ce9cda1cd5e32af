// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func (w *world) terraform(name string) *infrav1.Terraform {
	w.t.Helper()
	var obj infrav1.Terraform
	w.must(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &obj))
	return &obj
}

// say sets approvePlan as a user of a tool does.
func (w *world) say(name, approvePlan, tool string) {
	w.t.Helper()
	obj := w.terraform(name)
	before := obj.DeepCopy()
	obj.Spec.ApprovePlan = approvePlan
	w.must(w.c.Patch(w.t.Context(), obj, client.MergeFrom(before), client.FieldOwner(tool)))
}

const vpc = "apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata:\n  name: vpc\n  namespace: NAMESPACE\nspec:\n" +
	"  interval: 1h\n  approvePlan: \"\"\n  inline:\n    main.tf: \"\"\n"

// The manifest in git requires approval, but revokes no approval.
func TestAnApprovalIsNotTakenBack(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": vpc})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")

	for _, tool := range []string{"yuba", "kubectl-patch", "yuba", "kubectl-edit"} {
		id := "plan-by-" + tool
		w.say("vpc", id, tool)
		w.quiet()
		if got := w.terraform("vpc").Spec.ApprovePlan; got != id {
			t.Fatalf("approvePlan is %q, and %s has set %q", got, tool, id)
		}
	}
	// Another commit changes something else.
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": vpc + "  path: ./\n"})
	w.ready("app", "main@sha1:2")
	if got := w.terraform("vpc"); got.Spec.ApprovePlan != "plan-by-kubectl-edit" || got.Spec.Path != "./" {
		t.Errorf("approvePlan is %q, path %q", got.Spec.ApprovePlan, got.Spec.Path)
	}
	if got := w.pass("app"); len(got) != 0 {
		t.Errorf("an approval keeps it busy:\n%v", got)
	}
	// Approving all plans differs from approving one: the manifest reverts it.
	w.say("vpc", infrav1.ApprovePlanAuto, "yuba")
	w.eventually("plans wait again", func() bool { return w.terraform("vpc").Spec.ApprovePlan == "" })

	// Git can revoke what it approved.
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": strings.ReplaceAll(vpc, `approvePlan: ""`, "approvePlan: plan-in-git")})
	w.eventually("the plan is approved", func() bool { return w.terraform("vpc").Spec.ApprovePlan == "plan-in-git" })
	w.publish("src", "main@sha1:4", map[string]string{"a.yaml": vpc})
	w.eventually("it is not any more", func() bool { return w.terraform("vpc").Spec.ApprovePlan == "" })
}
