// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// policy is a policy for all stacks of a namespace.
func policy(namespace string, effect yubav1.PolicyEffect, stages []yubav1.PolicyStage, rules ...yubav1.PolicyRule) *yubav1.Policy {
	return &yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "safe"},
		Spec: yubav1.PolicySpec{Rules: rules, OnViolation: effect, Stages: stages}}
}

func builtin(name string) yubav1.PolicyRule { return yubav1.PolicyRule{Builtin: name} }

func refusedBeforePlan(o *infrav1.Terraform) bool { return failedWith(infrav1.ReasonPolicyRefused)(o) }

// readySays checks that the condition Ready has all the words.
func readySays(t *testing.T, o *infrav1.Terraform, words ...string) {
	t.Helper()
	if message := condition(o, infrav1.ConditionReady).Message; !containsAll(message, words...) {
		t.Errorf("Ready says %q, which does not have all of %q", message, words)
	}
}

func TestNothingIsExecutedThatAPolicyRefusesBeforeThePlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.create(t, policy(ns, yubav1.PolicyDeny, []yubav1.PolicyStage{yubav1.PolicyPrePlan}, builtin("no-external-data"), builtin("no-provisioners")))
	obj := inline(ns, "eager", `terraform {
  encryption {
    key_provider "external" "keys" { command = ["/bin/true"] }
    method "aes_gcm" "m" { keys = key_provider.external.keys }
    state { method = method.aes_gcm.m }
  }
}
data "external" "host" { program = ["/bin/true"] }
`, auto, destroying)
	y.create(t, obj)
	got := y.await(t, obj, "is refused", refusedBeforePlan)
	readySays(t, got, "Refused before planning", "no-external-data", "data.external.host", "main.tf:8", "Nothing of it was executed")
	if got.Status.LastRun != nil || got.Status.CurrentRun != nil {
		t.Errorf("a run began: %+v, %+v", got.Status.LastRun, got.Status.CurrentRun)
	}
	// The deletion of an applied stack would execute the configuration, too.
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf": `resource "terraform_data" "a" {}`}
	})
	y.await(t, obj, "is applied", ready)
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf": `resource "terraform_data" "a" {}
data "external" "host" { program = ["/bin/true"] }`}
	})
	y.await(t, obj, "is refused again", refusedBeforePlan)
	y.delete(t, obj)
	got = y.await(t, obj, "is not destroyed", func(o *infrav1.Terraform) bool { return refusedBeforePlan(o) && !o.DeletionTimestamp.IsZero() })
	readySays(t, got, "Nothing was destroyed")
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf": `resource "terraform_data" "a" {}`}
	})
	y.awaitGone(t, obj)
}

// serveModule serves an archive with a module.
func serveModule(t *testing.T, main string) string {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	f, err := w.Create("main.tf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(main)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(packed.Bytes()) //nolint:errcheck // a test
	}))
	t.Cleanup(server.Close)
	return server.URL + "/module.zip"
}

func TestModulesFromElsewhereAreJudgedAfterInit(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := policy(ns, yubav1.PolicyDeny, []yubav1.PolicyStage{yubav1.PolicyPrePlan}, builtin("no-provisioners"))
	y.create(t, p)
	source := serveModule(t, `
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "true" }
}
`)
	obj := inline(ns, "calls", `module "m" { source = "`+source+`" }`, auto)
	y.create(t, obj)
	got := y.await(t, obj, "is refused after init", refusedBeforePlan)
	readySays(t, got, "Refused before planning", "no-provisioners", "module.m.terraform_data.a", "local-exec", "main.tf:2")
	if got.Status.LastRun == nil || got.Status.Plan.Pending != "" {
		t.Errorf("the run was not recorded, or planned: %+v", got.Status)
	}
	// Another policy is a reason to try again.
	change(t, y, p, func(p *yubav1.Policy) {
		p.Spec.Exemptions = []yubav1.PolicyExemption{{Rules: []string{"no-provisioners"}, Addresses: []string{"module.m.*"}, Reason: "until the image has it", Expires: metav1.NewTime(time.Now().Add(time.Hour))}}
	})
	y.await(t, obj, "is applied", ready)
}

func TestExemptionsAreShownUntilTheyExpire(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := policy(ns, yubav1.PolicyRequireApproval, nil, builtin("max-changes"))
	p.Spec.AutoApprove = true
	p.Spec.Rules = append(p.Spec.Rules, yubav1.PolicyRule{Builtin: "approved-modules", With: raw(`{"modules":["acme/vpc/aws"]}`)})
	// A second from the API's point of view is a whole one.
	expires := metav1.NewTime(time.Now().Add(8 * time.Second).Truncate(time.Second))
	p.Spec.Exemptions = []yubav1.PolicyExemption{{Rules: []string{"approved-modules"}, Stacks: []string{ns + "/young"}, Reason: "ticket 42", Expires: expires}}
	y.create(t, p)
	obj := inline(ns, "young", `resource "terraform_data" "a" {}`)
	y.create(t, obj)
	got := y.await(t, obj, "waits with an exempted finding", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.Plan.Policy != nil && o.Status.Plan.Policy.Decision == infrav1.PolicyFreed
	})
	if e := got.Status.Plan.Policy.Exempted; len(e) != 1 || e[0].Reason != "ticket 42" || e[0].Address != "terraform_data.a" || !e[0].Expires.Equal(&expires) {
		t.Errorf("exempted: %+v", e)
	}
	if out, news, code := y.run(t, "plan", obj.Name, "-n", ns); code != 0 || !containsAll(out+news, "Exempted:", "approved-modules until", "(ticket 42)") {
		t.Errorf("yuba plan ends with %d and prints:\n%s%s", code, out, news)
	}
	got = y.await(t, obj, "is held once the exemption has expired", func(o *infrav1.Terraform) bool {
		return o.Status.Plan.Policy != nil && o.Status.Plan.Policy.Decision == infrav1.PolicyHeld
	})
	if v := got.Status.Plan.Policy; len(v.Exempted) != 0 || len(v.Findings) != 1 {
		t.Errorf("the verdict after the expiry: %+v", v)
	}
}

func TestDriftHasPoliciesOfItsOwn(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	rule := yubav1.PolicyRule{Builtin: "max-changes", With: raw(`{"create":0}`)}
	y.create(t, policy(ns, yubav1.PolicyRequireApproval, []yubav1.PolicyStage{yubav1.PolicyDrift}, rule))
	obj := inline(ns, "drifts", providerHCL+objectHCL("kept", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, obj)
	// The rule would hold the first plan.
	y.await(t, obj, "it is ready", ready)
	c.Remove("kept")
	got := y.await(t, obj, "the drift waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.Plan.Policy != nil && o.Status.Plan.Policy.Decision == infrav1.PolicyHeld
	})
	if f := got.Status.Plan.Policy.Findings; !got.Status.Plan.IsDriftDetectionPlan || len(f) != 1 || f[0].Rule != "max-changes" {
		t.Errorf("the verdict about the drift: %+v", got.Status.Plan)
	}
	// A change in place is repaired without a person.
	c.Put("kept", "tampered with")
	y.await(t, obj, "the other drift is repaired", ready)
	has(t, c, "kept", "as planned")
}

func raw(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// A source can bring a list of modules that claims anything.
func TestAModuleThatTheSourceBringsIsApprovedByItsDigestOnly(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	rule := yubav1.PolicyRule{Builtin: "approved-modules", With: raw(`{"modules":["acme/vpc/aws"],"root":"allow"}`)}
	p := policy(ns, yubav1.PolicyDeny, []yubav1.PolicyStage{yubav1.PolicyPrePlan}, rule)
	y.create(t, p)
	// Flux packs what is in the repository; "yuba push" would leave out .terraform.
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	w := tar.NewWriter(compressed)
	for name, content := range map[string]string{
		"main.tf":                             `module "m" { source = "acme/vpc/aws" }`,
		".terraform/modules/modules.json":     `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"registry.opentofu.org/acme/vpc/aws","Version":"1.0.0","Dir":".terraform/modules/m"}]}`,
		".terraform/modules/m/main.tf":        `resource "terraform_data" "a" {}`,
		".terraform/modules/m/boring-file.md": "nothing\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := y.content(t).Push(t.Context(), ns, "brought", bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	// Otherwise Yuba resolves the modules itself, and ignores those of the source.
	keeps := func(o *infrav1.Terraform) { o.Spec.UpgradeOnInit = new(bool) }
	obj := pushed(ns, "brings", "brought", auto, keeps)
	y.create(t, obj)
	got := y.await(t, obj, "is refused", refusedBeforePlan)
	readySays(t, got, "approved-modules", "module.m", "the stack's source brings this module itself", "approve the digest h1:")
	message := condition(got, infrav1.ConditionReady).Message
	digest := regexp.MustCompile(`h1:[A-Za-z0-9+/]{43}=`).FindString(message)
	if digest == "" {
		t.Fatalf("no digest in %q", message)
	}
	approves := func(digest string) {
		change(t, y, p, func(p *yubav1.Policy) {
			p.Spec.Rules[0].With = raw(`{"modules":[{"source":"acme/vpc/aws","digests":["` + digest + `"]}],"root":"allow"}`)
		})
	}
	approves("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	y.await(t, obj, "another digest is approved", func(o *infrav1.Terraform) bool {
		return refusedBeforePlan(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, "is not approved")
	})
	approves(digest)
	y.await(t, obj, "the digest is approved", ready)
}

// Init and the tool execute providers for a manual change, too.
func TestManualChangesAreRefusedThatAPolicyRefusesBeforeThePlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.applied(t, ns, "eager", `resource "terraform_data" "a" {}`)
	change(t, y, obj, suspended)
	p := policy(ns, yubav1.PolicyDeny, []yubav1.PolicyStage{yubav1.PolicyPrePlan}, builtin("no-external-data"), builtin("no-provisioners"))
	y.create(t, p)
	y.observed(t, p)
	y.do(t, "state", "mv", name(obj), "terraform_data.a", "terraform_data.c", "--dry-run")
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf": "resource \"terraform_data\" \"b\" {}\ndata \"external\" \"host\" { program = [\"/bin/true\"] }\n"}
	})
	last := obj.DeepCopy().Status.LastRun
	for _, command := range [][]string{{"state", "import", name(obj), "terraform_data.b", "x", "--yes"}, {"state", "mv", name(obj), "terraform_data.a", "terraform_data.b", "--yes"}} {
		if out, news, code := y.run(t, command...); code == 0 || !containsAll(out+news, "refused by its policies", "data.external.host", "nothing of it was executed") {
			t.Errorf("%q ended with %d: %s%s", command, code, out, news)
		}
	}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	if now := obj.Status; now.LastRun != nil && (last == nil || now.LastRun.ID != last.ID) || now.CurrentRun != nil {
		t.Errorf("a run began: %+v, %+v", now.LastRun, now.CurrentRun)
	}
	// What a module from elsewhere has, nobody knows before init.
	source := serveModule(t, "resource \"terraform_data\" \"b\" {\n  provisioner \"local-exec\" { command = \"true\" }\n}\n")
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline = map[string]string{"main.tf": `module "m" { source = "` + source + `" }`}
	})
	if out, news, code := y.run(t, "state", "import", name(obj), "module.m.terraform_data.b", "x", "--yes"); code == 0 || !containsAll(out+news, "Refused before planning", "module.m.terraform_data.b", "local-exec") {
		t.Errorf("the import ended with %d: %s%s", code, out, news)
	}
	if got := y.listed(t, obj); got != "a" {
		t.Errorf("the state has %s", got)
	}
}
