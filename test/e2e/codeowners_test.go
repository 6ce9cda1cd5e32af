// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// An owner of the stack's files must approve, by the file of the last applied revision: the commit that
// makes somebody else the owner does not free itself.
func TestOwnersOfTheLastAppliedRevisionMustApprove(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "owned", frees, func(s *yubav1.PolicySpec) {
		s.Approvals = &yubav1.PolicyApprovals{Codeowners: true, Owners: []yubav1.PolicyOwner{{Name: "@acme/network", Groups: []string{"network-team"}}}}
	})
	for _, user := range []string{"mallory", "ada", "grace"} {
		y.may(t, ns, user, "yuba:approver")
	}
	const owners = "* @mallory\n/stacks/ @acme/network\n/modules/zone/ @grace\n"
	repository := gittest.New(t).Repository(t, "owned")
	root := "module \"zone\" { source = \"../../modules/zone\" }\n"
	repository.Commit(t, "one", gittest.Files{"CODEOWNERS": owners, "stacks/net/main.tf": root + both, "modules/zone/main.tf": "resource \"terraform_data\" \"zone\" {}\n"})
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "program"}, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(),
		Interval: metav1.Duration{Duration: time.Second}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	obj := inline(ns, "net", "", byPolicy)
	obj.Spec.Inline, obj.Spec.Path, obj.Spec.SourceRef = nil, "stacks/net", &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "program"}
	y.create(t, source, obj)
	y.await(t, obj, "what the policy frees is applied", applied)

	repository.Commit(t, "two", gittest.Files{"CODEOWNERS": "* @mallory\n", "stacks/net/main.tf": root + onlyOne})
	seen := y.await(t, obj, "a destroy is held", heldByPolicy)
	plan := seen.Status.Plan.Pending
	v := seen.Status.Plan.Policy
	if len(v.Owners) != 2 || v.Owners[0].Names[0] != "@grace" || v.Owners[0].Path != "modules/zone/main.tf" || v.Owners[1].Groups[0] != "network-team" ||
		!strings.HasPrefix(v.OwnersNote, "CODEOWNERS at main@sha1:") {
		t.Fatalf("owners %+v, %s", v.Owners, v.OwnersNote)
	}
	if out, news := y.do(t, "plan", name(obj)); !strings.Contains(out+news, "owner of stacks/net/main.tf: one of @acme/network must approve") {
		t.Errorf("yuba plan:\n%s", out+news)
	}
	if out, news := y.do(t, "why", name(obj)); !strings.Contains(out+news, "One of @acme/network must approve") {
		t.Errorf("yuba why:\n%s", out+news)
	}
	approve := func(user string, groups ...string) {
		t.Helper()
		if err := y.approveAs(t, obj, user, groups...); err != nil {
			t.Fatal(err)
		}
	}
	says := func(o *infrav1.Terraform, owner string) bool {
		return strings.Contains(condition(o, infrav1.ConditionReady).Message, "one of them "+owner)
	}
	approve("mallory")
	y.await(t, obj, "who took the file over is no owner", func(o *infrav1.Terraform) bool {
		return considered(1)(o) && says(o, "@grace") && says(o, "@acme/network")
	})
	approve("ada", "network-team")
	y.await(t, obj, "one owner is missing", func(o *infrav1.Terraform) bool {
		return considered(2)(o) && says(o, "@grace") && !says(o, "@acme/network")
	})
	approve("grace")
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied == plan })
}
