// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// approved approves the pending plan of a stack with the command, and waits for its end. The
// approval stays.
func (y *yuba) approved(t *testing.T, obj *infrav1.Terraform) {
	t.Helper()
	id := y.await(t, obj, "its plan waits", waiting).Status.Plan.Pending
	y.must(t, "approve", obj.Name, "-n", obj.Namespace, id)
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == id })
	seen := y.await(t, obj, "it rests", ready)
	if seen.Spec.ApprovePlan != id {
		t.Errorf("approvePlan is %q, and plan %s was approved", seen.Spec.ApprovePlan, id)
	}
}

// A manifest in git with approvePlan: "" does not revoke approvals.
func TestAnApprovalOutlivesTheManifestInGit(t *testing.T) {
	y, ns := common(t)
	manifest := func(input, approves string) gittest.Files {
		return gittest.Files{"vpc.yaml": fmt.Sprintf(`
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: vpc, namespace: %s}
spec:
  interval: 1h
  approvePlan: %q
  inline: {main.tf: 'resource "terraform_data" "a" { input = %q }'}
`, ns, approves, input)}
	}
	repository := gittest.New(t).Repository(t, "stacks")
	repository.Commit(t, "one", manifest("one", ""))
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stacks"}, Spec: kustomizev1.KustomizationSpec{Prune: true,
		Interval: metav1.Duration{Duration: time.Second}, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "stacks"}}}
	y.create(t, &sourcev1.GitRepository{ObjectMeta: k.ObjectMeta, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(),
		Interval: metav1.Duration{Duration: time.Second}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}, k)
	obj := inline(ns, "vpc", "")
	y.await(t, obj, "it is made", settled)
	y.approved(t, obj)
	repository.Commit(t, "two", manifest("two", ""))
	y.approved(t, obj)
	// A manifest with a plan's id is enforced, and the command says where to approve the next plan.
	repository.Commit(t, "three", manifest("three", "plan-in-git"))
	y.await(t, obj, "the manifest is applied, and its plan waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Spec.ApprovePlan == "plan-in-git"
	})
	if _, news, _ := y.run(t, "approve", "vpc", "-n", ns); !strings.Contains(news, "kustomize-controller applies approvePlan from a manifest") {
		t.Errorf("approve does not say that the manifest counts: %s", news)
	}
}

// Nor does a tenant template, whichever way it writes its objects.
func TestAnApprovalOutlivesTheTemplate(t *testing.T) {
	for _, strategy := range []string{"apply", "merge", "replace"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			template := fmt.Sprintf(`
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  manifests:
  - id: vpc
    nameTemplate: "{{ .uid }}-vpc"
    patchStrategy: %s
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        interval: 1h
        approvePlan: ""
        destroyResourcesOnDeletion: false
        inline: {main.tf: 'resource "terraform_data" "a" { input = "{{ .plan }}" }'}
`, strategy)
			h, table := customers(t, template)
			y, _ := common(t)
			table.exec(t, "INSERT INTO tenants (id, url, plan, active) VALUES ('acme', 'acme.example.com', 'small', 1)")
			obj := inline(h.Namespace, "acme-vpc", "")
			h.Eventually(t, "the tenant has its stack", func() string {
				if _, news, code := y.run(t, "status", "acme-vpc", "-n", h.Namespace); code != 0 {
					return news
				}
				return ""
			})
			y.approved(t, obj)
			table.exec(t, "UPDATE tenants SET plan = 'large' WHERE id = 'acme'")
			y.approved(t, obj)
			// The template says that plans wait for approval, so Yuba reverts a manual change to auto.
			change(t, y, obj, auto)
			h.Eventually(t, "plans wait again", func() string {
				seen := y.await(t, obj, "it is there", func(*infrav1.Terraform) bool { return true })
				return seen.Spec.ApprovePlan
			})
		})
	}
}
