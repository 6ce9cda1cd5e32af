// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

const vpcModule = "acme/vpc/test"

// vpcStacks has a registry with a module, and makes stacks that call it.
type vpcStacks struct {
	registry *registrytest.Registry
	ca       string
}

func newVPCStacks(t *testing.T) *vpcStacks {
	t.Helper()
	v := &vpcStacks{registry: registrytest.New(t)}
	v.ca = v.registry.CAFile(providerMirror()) // what runs may read
	v.publish("1.2.0", "")
	v.publish("1.3.0", "")
	return v
}

func (v *vpcStacks) publish(version, more string) {
	v.registry.PublishModule(vpcModule, version, map[string][]byte{"main.tf": []byte("variable \"size\" {\n  default = 1\n}\n" +
		"resource \"terraform_data\" \"net\" {\n  count = var.size\n}\n" + more)})
}

func (v *vpcStacks) stack(ns, name, version, arguments string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	hcl := fmt.Sprintf("module \"vpc\" {\n  source  = %q\n  version = %q\n%s\n}\n", v.registry.ModuleSource(vpcModule), version, arguments)
	trusting := func(o *infrav1.Terraform) {
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: v.ca}, corev1.EnvVar{Name: "TF_REGISTRY_DISCOVERY_RETRY", Value: "0"})
	}
	return inline(ns, name, hcl, append([]func(*infrav1.Terraform){auto, trusting}, change...)...)
}

func (y *yuba) users(t *testing.T, query, ns string) (lines []string) {
	t.Helper()
	out, _ := y.do(t, "registry", "users", query, "-n", ns, "-o", "json")
	var list content.UserList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, u := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s (%s) %s", u.Stack, u.Version, u.Constraint, u.Standing))
	}
	return lines
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What runs resolved is known at once, also by the next server, until the stack is gone.
func TestWhoUsesAModule(t *testing.T) {
	y := alone(t, "--provider-mirror", providerMirror())
	ns := y.namespace(t)
	v := newVPCStacks(t)
	a, b := v.stack(ns, "a", "~> 1.2.0", ""), v.stack(ns, "b", ">= 1.2", "")
	waits := v.stack(ns, "waits", "1.3.0", "", func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "" })
	y.create(t, a, b, waits)
	y.await(t, a, "it is ready", ready)
	y.await(t, b, "it is ready", ready)
	y.await(t, waits, "its plan waits", waiting)
	source := v.registry.ModuleSource(vpcModule)
	want := []string{"a 1.2.0 (~> 1.2.0) applied", "b 1.3.0 (>= 1.2) applied", "waits 1.3.0 (1.3.0) planned"}
	same(t, "all", y.users(t, source, ns), want...)
	same(t, "below 1.3", y.users(t, source+"@<1.3", ns), want[0])
	out, _ := y.do(t, "registry", "outdated", "-n", ns)
	if !strings.Contains(out, "1.2.0") || !strings.Contains(out, "1.3.0") || strings.Contains(out, "waits") {
		t.Errorf("outdated:\n%s", out)
	}

	if err := y.terminate(); err != nil {
		t.Fatal(err)
	}
	y.restart(t)
	var got []string
	y.eventually(t, "a new server knows it", func() string {
		if got = y.users(t, source, ns); len(got) != len(want) {
			return strings.Join(got, "\n")
		}
		return ""
	})
	same(t, "after a restart", got, want...)
	y.delete(t, b)
	y.awaitGone(t, b)
	same(t, "after the deletion", y.users(t, source, ns), want[0], want[2])
	y.eventually(t, "nothing is left of it", func() string {
		left, err := filepath.Glob(filepath.Join(y.dir, "blobs", "uses", ns, "b", "*"))
		if err != nil || len(left) > 0 {
			return fmt.Sprint(left, err)
		}
		return ""
	})
	if _, err := os.Stat(filepath.Join(y.dir, "blobs")); err != nil {
		t.Fatal("the blobs are elsewhere")
	}
}

// A release candidate is planned in its users, and nothing happens to them.
func TestTryAReleaseCandidate(t *testing.T) {
	y, ns := common(t)
	v := newVPCStacks(t)
	var all []*infrav1.Terraform
	for i := range 5 {
		all = append(all, v.stack(ns, fmt.Sprint("s", i), "~> 1.2.0", ""))
	}
	all = append(all, v.stack(ns, "large", "1.3.0", "  size = 3"), v.stack(ns, "odd", "1.2.0", "  size = 2"))
	for _, obj := range all {
		y.create(t, obj)
	}
	before := map[string]string{}
	for _, obj := range all {
		before[obj.Name] = y.await(t, obj, "it is ready", ready).ResourceVersion
	}
	v.publish("1.4.0-rc1", "resource \"terraform_data\" \"extra\" {\n  count = var.size > 1 ? 1 : 0\n  lifecycle {\n    precondition {\n      condition = var.size != 2\n      error_message = \"two is not allowed\"\n    }\n  }\n}\n")
	began := time.Now()
	out, news, code := y.run(t, "registry", "try", v.registry.ModuleSource(vpcModule)+"@1.4.0-rc1", "-n", ns)
	t.Logf("7 plans took %s\n%s%s", time.Since(began).Round(time.Millisecond), news, out)
	if code != 4 || !strings.HasPrefix(out, "5 stacks: no changes\n1 stack: +1 terraform_data.extra\n    "+ns+"/large\n1 stack: failed\n    "+ns+"/odd\n") || !strings.Contains(out, "two is not allowed") {
		t.Errorf("code %d:\n%s%s", code, news, out)
	}
	for _, obj := range all {
		if now := y.await(t, obj, "it is ready", ready); now.ResourceVersion != before[obj.Name] {
			t.Errorf("%s has changed: %+v", obj.Name, now.Status)
		}
		runs, err := y.content(t).Runs(t.Context(), ns, obj.Name, 10)
		if err != nil || len(runs.Items) != 1 {
			t.Errorf("%s has %d runs, %v", obj.Name, len(runs.Items), err)
		}
	}
	for _, place := range []string{"blobs/runs/" + ns + "/*+*", "work/" + ns + "/*+*"} {
		y.eventually(t, "nothing is left in "+place, func() string {
			left, err := filepath.Glob(filepath.Join(y.dir, filepath.FromSlash(place)))
			if err != nil || len(left) > 0 {
				return fmt.Sprint(left, err)
			}
			return ""
		})
	}
	same(t, "who uses it is as before", y.users(t, v.registry.ModuleSource(vpcModule)+"@>=1.4.0-0", ns))
	sampled, _, _ := y.run(t, "registry", "try", v.registry.ModuleSource(vpcModule)+"@1.4.0-rc1", "-n", ns, "--sample", "2", "-o", "json")
	var report struct{ Stacks []content.Try }
	if err := json.Unmarshal([]byte(sampled), &report); err != nil || len(report.Stacks) != 2 || report.Stacks[0].From[0] == report.Stacks[1].From[0] {
		t.Errorf("%v\n%s", err, sampled)
	}
}

// Who revokes a version tells its users why: those that have it at once, and each run that takes it.
func TestUsersOfARevokedVersionLearnTheReason(t *testing.T) {
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	y := alone(t, "--registry-address", address)
	ns, dir := y.namespace(t), t.TempDir()
	push := func(version, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		y.do(t, "registry", "push", dir, vpcModule+"@"+version)
	}
	push("1.2.0", "resource \"terraform_data\" \"net\" {}\n")
	host, _ := y.do(t, "registry", "host")
	host = strings.TrimSpace(host)
	stack := func(name string) *infrav1.Terraform {
		return inline(ns, name, fmt.Sprintf("module \"vpc\" {\n  source  = \"%s/%s\"\n  version = \"~> 1.2.0\"\n}\n", host, vpcModule), auto)
	}
	obj := stack("a")
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	same(t, "users", y.users(t, vpcModule, ns), "a 1.2.0 (~> 1.2.0) applied")
	push("1.3.0-rc1", "resource \"terraform_data\" \"net\" {}\nresource \"terraform_data\" \"spare\" {}\n")
	if out, _ := y.do(t, "registry", "try", vpcModule+"@1.3.0-rc1", "-n", ns); out != "1 stack: +1 terraform_data.spare\n    "+ns+"/a\n" {
		t.Errorf("tried:\n%s", out)
	}

	y.do(t, "registry", "revoke", vpcModule+"@1.2.0", "--reason", "it leaks")
	const notice = "Uses " + vpcModule + " 1.2.0, which is revoked: it leaks. Newer versions: yuba registry outdated"
	warned := func(o *infrav1.Terraform) bool { return strings.Join(o.Status.Warnings, "\n") == notice }
	y.await(t, obj, "it is warned", warned)
	y.awaitEvent(t, obj, "Warning", "which is revoked")
	if out, _ := y.do(t, "why", "a", "-n", ns); !strings.Contains(out, notice) {
		t.Errorf("why:\n%s", out)
	}
	if out, _ := y.do(t, "registry", "users", vpcModule, "-n", ns); !strings.Contains(out, "revoked: it leaks") {
		t.Errorf("users:\n%s", out)
	}
	y.do(t, "registry", "restore", vpcModule+"@1.2.0")
	y.await(t, obj, "the warning is gone", func(o *infrav1.Terraform) bool { return len(o.Status.Warnings) == 0 })
	// A deprecated version can still be had, and each run that takes it says so.
	y.do(t, "registry", "deprecate", vpcModule+"@1.2.0", "--reason", "use 1.3")
	late := stack("late")
	y.create(t, late)
	y.await(t, late, "it is ready", ready)
	if out, _ := y.do(t, "logs", "late", "-n", ns); !strings.Contains(out, vpcModule+" 1.2.0, which is deprecated: use 1.3.") {
		t.Errorf("log:\n%s", out)
	}
}
