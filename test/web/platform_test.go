// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// phaseModule is a module of a phase that makes something and needs nothing.
func phaseModule(approval yubav1.PlatformApproval, name yubav1.PlatformPhaseName) yubav1.PlatformPhase {
	return yubav1.PlatformPhase{Name: name, Approval: approval, Module: &yubav1.PlatformModule{Inline: map[string]string{"main.tf": `resource "terraform_data" "thing" {}`}}}
}

// An open page follows a platform: phases that become ready, the plan that waits, the record that people create, and a
// decommission. The browser loads it once.
func TestAPageFollowsAPlatform(t *testing.T) {
	s, namespace := common(t)
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acme"}, Spec: yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme", DisplayName: "Acme Ltd"},
		Domain:       yubav1.PlatformDomain{FQDN: namespace + ".example.org", Manual: &yubav1.PlatformManualDNS{Resolver: "127.0.0.1:1", Wait: true}},
		Regions:      []yubav1.PlatformRegion{{Name: "eu", Provider: "local"}},
		Phases:       []yubav1.PlatformPhase{phaseModule(yubav1.ApprovalAuto, yubav1.PhaseNetwork), phaseModule(yubav1.ApprovalManual, yubav1.PhaseKubernetes), phaseModule(yubav1.ApprovalAuto, yubav1.PhaseGitOps)},
	}}
	if err := s.client.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.login()
	b.open("/platforms")
	b.sees("tr[data-row]", namespace+"/acme")
	b.do(chromedp.Click(`a[href="/platforms/`+namespace+`/acme"]`, chromedp.ByQuery))
	b.sees("h1", "Platform "+namespace+"/acme")
	b.do(chromedp.Evaluate(`window.loadedOnce = true`, nil))
	row := func(phase string) string { return `tr[id="phase-eu/` + phase + `"]` }
	b.sees(row("network"), "ready")
	b.sees(row("kubernetes"), "awaiting approval")
	b.sees(row("dns"), "Waits for eu/kubernetes")
	b.sees(row("gitops"), "Waits for eu/kubernetes, eu/dns")
	b.sees(row("kubernetes")+" a", "Review the plan")
	s.yuba(t, "approve", "acme-eu-kubernetes", "-n", namespace, "--wait")
	b.sees(row("kubernetes"), "ready")
	b.sees(row("dns"), "waits for the addresses of the machines")
	b.sees("dl.facts", "2 of 4 ready")

	before := p.DeepCopy()
	p.Spec.Decommission = true
	if err := s.client.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	b.sees("main", "decommissioned")
	b.sees("main", "Nothing of the platform is left")
	var once bool
	if b.do(chromedp.Evaluate(`window.loadedOnce === true`, &once)); !once {
		t.Error("the page was loaded again")
	}
	b.do(chromedp.WaitNotPresent(`a[href="/stacks/`+namespace+`/acme-eu-network"]`, chromedp.ByQuery))
	var list infrav1.TerraformList
	if err := s.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil || len(list.Items) > 0 {
		t.Errorf("%d stacks are left: %v", len(list.Items), err)
	}
}
