// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// hostilePlatform is a platform in the middle of everything, whose texts want to be more than text.
func hostilePlatform(namespace string) *yubav1.Platform {
	p := &yubav1.Platform{ObjectMeta: named(namespace, "acme"), Spec: yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme", DisplayName: evil}, Domain: yubav1.PlatformDomain{FQDN: namespace + ".example.org"},
		Library: &yubav1.PlatformLibrary{SourceRef: yubav1.PlatformSourceReference{Kind: "GitRepository", Name: "modules"}}, Regions: []yubav1.PlatformRegion{{Name: "eu", Provider: "local"}}}}
	now := metav1.Now()
	p.Status.Phases = []yubav1.PlatformPhaseStatus{
		{Name: "eu/network", Region: "eu", Phase: yubav1.PhaseNetwork, Stack: "vpc", State: yubav1.PhaseAwaitingApproval, Message: evil, Changes: evil, Plan: "plan-1", Run: "run-1", StartedAt: &now, Failures: 2},
		{Name: "eu/gitops", Region: "eu", Phase: yubav1.PhaseGitOps, Stack: "acme-eu-gitops", State: yubav1.PhaseAway, Message: evil},
	}
	p.Status.Records = []yubav1.PlatformRecord{{Name: namespace + ".example.org", Type: "A", Region: "eu", Addresses: []string{evil}, State: yubav1.RecordMissing, Message: evil}}
	p.Status.Remaining = []yubav1.PlatformRemains{{Stack: "acme-eu-old", Phase: "eu/old", Count: 21, Resources: []string{evil}, Message: evil}}
	p.Status.Endpoints = []yubav1.PlatformEndpoint{{Name: evil, Region: "eu", Address: evil}}
	p.Status.Conditions = ready(yubav1.ReasonPlatformApproval, metav1.ConditionFalse, evil)
	return p
}

// A page leads to the stacks that exist, and names the others.
func TestAPlatformLeadsToItsStacks(t *testing.T) {
	w := newWorld(t)
	namespace := apitest.Namespace(t)
	hostile(t, namespace)
	b := w.login(admin())
	var body string
	eventually(t, "the stack is linked", func() bool {
		var code int
		code, body = b.get("/platforms/" + namespace + "/acme")
		return code == http.StatusOK && strings.Contains(body, `<a href="/stacks/`+namespace+`/vpc">vpc</a>`)
	})
	for _, want := range []string{"awaiting approval", `href="/stacks/` + namespace + `/vpc/plan"`, `href="/stacks/` + namespace + `/vpc/runs/run-1"`, ">away</span>", "acme-eu-gitops", "2 failed attempts",
		"DNS records that people create", "Being removed", "acme-eu-old", "and 20 more", "yuba bootstrap status acme -n " + namespace} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(body, `href="/stacks/`+namespace+`/acme-eu-gitops`) || strings.Contains(body, `href="/stacks/`+namespace+`/acme-eu-old`) {
		t.Error("the page leads to stacks that do not exist")
	}
	if _, list := b.get("/platforms"); !strings.Contains(list, `<a href="/platforms/`+namespace+`/acme">`+namespace+`/acme</a>`) || !strings.Contains(list, "0 of 2") {
		t.Errorf("the list is %s", list)
	}
}
