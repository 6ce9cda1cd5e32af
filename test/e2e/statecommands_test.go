// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// mentions checks that the output of a command has these words.
func mentions(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

func TestResourcesAreMarkedAndTheMarkIsUndone(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	change(t, y, obj, suspended)
	out, _ := y.do(t, "state", "taint", name(obj), "terraform_data.a", "--dry-run")
	mentions(t, out, "Would mark terraform_data.a as tainted")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the preview changed the state: %s", got)
	}
	_, news := y.do(t, "state", "taint", name(obj), "terraform_data.a", "--yes")
	mentions(t, news, "yuba state undo "+name(obj))
	if got := y.listed(t, obj); got != "a (tainted) b" {
		t.Errorf("the state has %s", got)
	}
	y.do(t, "state", "untaint", name(obj), "terraform_data.a", "--yes")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the state has %s", got)
	}
	// Undone is the untaint, then the undo. The plan is that of the stack on the state it would have.
	out, news = y.do(t, "state", "undo", name(obj), "--yes")
	mentions(t, news, "Undoing state untaint")
	mentions(t, out, "~ terraform_data.a", "terraform_data.a is tainted, so it must be replaced", "1 to add, 0 to change, 1 to destroy")
	if got := y.listed(t, obj); got != "a (tainted) b" {
		t.Errorf("the state has %s", got)
	}
	out, _ = y.do(t, "state", "undo", name(obj), "--yes")
	mentions(t, out, "No changes.")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the state has %s", got)
	}
	if _, news, code := y.run(t, "state", "taint", name(obj), "terraform_data.none", "--yes"); code != 4 || !strings.Contains(news, "terraform_data.none") {
		t.Errorf("a resource that is not there: %d %s", code, news)
	}
	out, _ = y.do(t, "state", "replace-provider", name(obj), "terraform.io/builtin/terraform", "hashicorp/null", "--dry-run")
	mentions(t, out, "+ registry.opentofu.org/hashicorp/null", "Would replace the provider for 2 resources")
	y.do(t, "state", "replace-provider", name(obj), "terraform.io/builtin/terraform", "hashicorp/null", "--yes")
	if out, _ := y.do(t, "state", "pull", name(obj)); strings.Count(out, "registry.opentofu.org/hashicorp/null") != 2 {
		t.Errorf("the state: %s", out)
	}
	unlocked(t, y, obj)
}

func TestWhatAnApplyWroteIsNotUndone(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	if _, news, code := y.run(t, "state", "undo", name(obj), "--yes"); code != 6 || !strings.Contains(news, "it changed real resources") || !strings.Contains(news, "yuba state restore") {
		t.Errorf("undo ended with %d: %s", code, news)
	}
}

func TestARefreshRecordsWhatOthersChanged(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := y.applied(t, ns, "web", providerHCL+objectHCL("changed", "as planned")+objectHCL("other", "as planned"), access)
	change(t, y, obj, suspended)
	c.Put("changed", "tampered with")
	c.Put("other", "tampered with")
	out, _ := y.do(t, "state", "refresh", name(obj), "yubatest_object.changed", "--dry-run")
	mentions(t, out, "yubatest_object.changed has changed", "tampered with")
	if strings.Contains(out, "yubatest_object.other") {
		t.Errorf("it is not only about its target:\n%s", out)
	}
	show := func(address string) string {
		out, _ := y.do(t, "state", "show", name(obj), address)
		return out
	}
	mentions(t, show("yubatest_object.changed"), "as planned")
	y.do(t, "state", "refresh", name(obj), "yubatest_object.changed", "--yes")
	mentions(t, show("yubatest_object.changed"), "tampered with")
	mentions(t, show("yubatest_object.other"), "as planned")
	has(t, c, "changed", "tampered with")
	out, _ = y.do(t, "state", "undo", name(obj), "--yes")
	mentions(t, out, "~ yubatest_object.changed")
	mentions(t, show("yubatest_object.changed"), "as planned")
}

// TestAStateIsRestoredByPlan: the plan on the earlier state comes first, and is void when the state changes.
func TestAStateIsRestoredByPlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	change(t, y, obj, suspended)
	y.do(t, "state", "rm", name(obj), "terraform_data.b", "--yes")
	var versions []struct{ ID, Digest string }
	history, _ := y.do(t, "state", "history", name(obj), "-o", "json")
	if err := json.Unmarshal([]byte(history), &versions); err != nil || len(versions) != 2 {
		t.Fatalf("%v: %s", err, history)
	}
	newest, oldest := versions[0], versions[1]
	out, _ := y.do(t, "state", "restore", name(obj), oldest.ID, "--dry-run")
	mentions(t, out, "+ terraform_data.b", "No changes. Your infrastructure matches the configuration.")
	if got := y.listed(t, obj); got != "a" {
		t.Errorf("the preview changed the state: %s", got)
	}
	// Without a terminal and without --yes, nobody agrees.
	if _, _, code := y.run(t, "state", "restore", name(obj), oldest.ID); code == 0 || y.listed(t, obj) != "a" {
		t.Errorf("nobody agreed: %d, %s", code, y.listed(t, obj))
	}
	y.do(t, "state", "mv", name(obj), "terraform_data.a", "terraform_data.c", "--yes")
	_, err := y.content(t).Change(t.Context(), ns, "vpc", run.StateChange{Verb: run.StateRollback, Args: []string{oldest.ID}}, newest.Digest)
	if err == nil || !strings.Contains(err.Error(), "has changed since you read it") || y.listed(t, obj) != "c" {
		t.Errorf("a plan on a state that was replaced: %v, %s", err, y.listed(t, obj))
	}
	y.do(t, "state", "restore", name(obj), oldest.ID, "--yes")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the state has %s", got)
	}
	for version, code := range map[string]int{"01767225600000000000-4": 3, "no-version": 3} {
		if _, news, got := y.run(t, "state", "restore", name(obj), version, "--yes"); got != code {
			t.Errorf("%s: %d, want %d: %s", version, got, code, news)
		}
	}
}

func TestAConsoleReadsAndTellsNobodyElse(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed+"\nvariable \"hidden\" {\n  sensitive = true\n  default = \"geheim\"\n}\n")
	out, news, code := y.runWith(t, "terraform_data.a.output\nupper(var.one)\nvar.hidden\n", "console", name(obj))
	if code != 0 || out != "\"one\"\n\"ONE\"\n(sensitive value)\n" {
		t.Errorf("%d: %q %s", code, out, news)
	}
	if _, news, code := y.run(t, "console", name(obj), "var.none"); code != 4 || !strings.Contains(news, "Reference to undeclared input variable") || strings.Contains(news, "\x1b") {
		t.Errorf("a variable that is not there: %d %q", code, news)
	}
	if _, news, code := y.run(t, "console", name(obj)); code != 2 || !strings.Contains(news, "there is no expression") {
		t.Errorf("no expression: %d %s", code, news)
	}
	y.do(t, "console", name(obj), `"the answer"`)
	if state, _ := y.do(t, "state", "history", name(obj), "-o", "name"); len(strings.Fields(state)) != 1 {
		t.Errorf("a console wrote a state:\n%s", state)
	}
	y.create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "changer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"terraforms/change", "terraforms/runs"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"terraforms"}, Verbs: []string{"get"}},
	}})
	y.create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "changer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "changer"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "eve"}}})
	y.await403(t, "runs", name(obj), "--as", "eve")
	if _, news, code := y.run(t, "console", name(obj), "var.one", "--as", "eve"); code == 0 || !strings.Contains(news, "may not read its state") {
		t.Errorf("eve got an answer: %d %s", code, news)
	}
	for as, want := range map[string]bool{"": true, "eve": false} {
		args := []string{"runs", name(obj), "-o", "json"}
		if as != "" {
			args = append(args, "--as", as)
		}
		if out, _ := y.do(t, args...); strings.Contains(out, "the answer") != want {
			t.Errorf("%q sees the answer: %v, want %v\n%s", as, !want, want, out)
		}
	}
	mentions(t, func() string { out, _ := y.do(t, "state", "graph", name(obj)); return out }(), "digraph", `"[root] terraform_data.a (expand)"`)
	for _, event := range y.events(t, obj) {
		if strings.Contains(event, "the answer") {
			t.Errorf("an event tells: %s", event)
		}
	}
	y.await(t, obj, "it is ready", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.CurrentRun == nil })
}
