// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"fmt"
	"strings"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// baseOf is the program of a producer. Its token has a secret, and changes with the suffix.
func baseOf(value, suffix string) map[string]string {
	return map[string]string{"stacks/base/main.tf": `variable "password" {
  sensitive = true
}
output "base" { value = ` + value + ` }
output "token" {
  sensitive = true
  value     = "${var.password}-` + suffix + `"
}
`}
}

// behindThem are a contract, its producer in the repository, a stack that consumes it, one behind that, and one that
// reads the token.
const behindThem = `
apiVersion: yuba.dev/v1alpha1
kind: Contract
metadata: {name: base, namespace: %[1]s}
spec: {version: 1.0.0, type: "object({ vpc_id = string, cidr = string })"}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: base, namespace: %[1]s}
spec:
  interval: 1h
  path: ./stacks/base
  approvePlan: auto
  sourceRef: {kind: GitRepository, name: infra}
  varsFrom: [{kind: Secret, name: password}]
  publishes: [{contract: base, version: 1.0.0, value: base}]
  writeOutputsToSecret: {name: base-outputs, outputs: [token]}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: app, namespace: %[1]s}
spec:
  interval: 1h
  approvePlan: auto
  consumes: [{contract: base, version: "~> 1.0", from: {name: base}, as: base}]
  writeOutputsToSecret: {name: app-outputs}
  inline:
    main.tf: |
      variable "base" {
        type = object({ vpc_id = string, cidr = string })
      }
      resource "terraform_data" "app" { input = "${var.base.vpc_id} ${var.base.cidr}" }
      output "endpoint" { value = "https://${cidrhost(var.base.cidr, 10)}" }
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: edge, namespace: %[1]s}
spec:
  interval: 1h
  approvePlan: auto
  varsFrom: [{kind: Secret, name: app-outputs}]
  inline:
    main.tf: |
      variable "endpoint" {}
      resource "terraform_data" "edge" { input = var.endpoint }
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: vault, namespace: %[1]s}
spec:
  interval: 1h
  approvePlan: auto
  varsFrom: [{kind: Secret, name: base-outputs}]
  inline:
    main.tf: |
      variable "token" {
        sensitive = true
      }
      resource "terraform_data" "vault" { input = var.token }
`

// effects are the stacks behind and what becomes of them.
func effects(p yubav1.PullRequestStatus) string {
	var all []string
	for _, b := range p.Behind {
		_, name, _ := strings.Cut(b.Name, "/")
		all = append(all, fmt.Sprintf("%s %s at %d", name, b.Effect, b.Level))
	}
	return strings.Join(all, ", ")
}

// behindAre waits for the stacks behind in the planner's status, which is written after the comment.
func (w *world) behindAre(t *testing.T, n int, want string) {
	t.Helper()
	w.eventually(t, "behind are "+want, func() bool { return effects(w.y.pull(t, w.ns, n)) == want })
}

// behind: what a pull request does to the stacks behind those that it changes; what became of it after the merge, and
// drift after that.
func behind(t *testing.T, w *world) {
	w.Put(t, baseOf(`{ vpc_id = "vpc-1", cidr = "10.1.0.0/16" }`, "1"))
	w.y.apply(t, fmt.Sprintf(behindThem, w.ns))
	for _, name := range []string{"base", "app", "edge", "vault"} {
		w.y.run(t, "", "kubectl", "wait", "-n", w.ns, "--for=condition=Ready", "--timeout=2m", "terraform/"+name)
	}
	w.y.run(t, "", "kubectl", "patch", "terraform", "base", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"approvePlan":""}}`)

	// By default nothing behind is planned: what it reads is compared.
	n := w.Create(t, forgetest.Pull{Branch: "range", Title: "Another range", Author: forgetest.Alice, Write: baseOf(`{ vpc_id = "vpc-1", cidr = "10.2.0.0/16" }`, "2")})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	w.eventually(t, "the comment names the stacks behind", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "What follows: 2 run, 1 may run") && w.status(t, p.Head).Result == forge.Success
	})
	w.behindAre(t, n, "app runs at 1, vault runs at 1, edge mayRun at 2")

	// When asked, they are planned with the planned values, level by level.
	w.Say(t, n, forgetest.Alice, "/yuba impact")
	var text string
	w.eventually(t, "the stacks behind are planned", func() bool {
		texts := w.ours(t, n)
		text = texts[0]
		return strings.Contains(text, "What follows: 3 change") && !strings.Contains(text, "being planned")
	})
	for _, want := range []string{"`base.cidr` of `" + w.ns + "/base`: `\"10.1.0.0/16\"` → `\"10.2.0.0/16\"`", "vpc-1 10.2.0.0/16", "https://10.2.0.10", "`token` of `" + w.ns + "/base`: `(sensitive value)` → `(sensitive value)`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
	w.behindAre(t, n, "app changes at 1, vault changes at 1, edge changes at 2")
	t.Logf("the comment:\n%s", text)

	// A broken contract fails the check.
	head := w.Push(t, n, baseOf(`{ cidr = "10.2.0.0/16" }`, "1"))
	w.until(t, n, head, yubav1.PullRequestPlanned)
	w.eventually(t, "the comment and the status say what breaks", func() bool {
		texts := w.ours(t, n)
		s := w.status(t, head)
		return strings.Contains(texts[0], "**breaks**") && strings.Contains(texts[0], "base.vpc_id") && s.Result == forge.Failure && strings.Contains(s.Description, "breaks 1 stack behind")
	})
	w.eventually(t, "yuba pr show says it, too", func() bool {
		shown := w.y.run(t, "", "pr", "show", fmt.Sprint(n), "-n", w.ns)
		return strings.Contains(shown, "breaks") && strings.Contains(shown, "base.vpc_id, which is missing")
	})
	t.Logf("the comment:\n%s", w.ours(t, n)[0])

	results(t, w, n)
}

// results: what became of a merged pull request is beside its commit, and later drift, once.
func results(t *testing.T, w *world, n int) {
	w.Push(t, n, baseOf(`{ vpc_id = "vpc-1", cidr = "10.3.0.0/16", at = plantimestamp() }`, "1")) // every check finds a difference
	w.eventually(t, "it breaks nothing any more", func() bool {
		p := w.y.pull(t, w.ns, n)
		return p.State == yubav1.PullRequestPlanned && w.status(t, p.Head).Result == forge.Success
	})
	commit := w.Merge(t, n)
	w.eventually(t, "the plan of the merge commit is held, as it is another one", func() bool {
		return w.result(t, commit, "base").Result == forge.Pending && strings.Contains(w.ours(t, n)[0], "held")
	})
	w.y.run(t, "", "approve", "base", "-n", w.ns)
	w.eventually(t, "the result is beside the merge commit", func() bool {
		s := w.result(t, commit, "base")
		return s.Result == forge.Success && strings.HasPrefix(s.Description, "applied") && w.status(t, commit).Result == forge.Success
	})
	w.eventually(t, "the planner forgets it", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })

	w.y.run(t, "", "kubectl", "patch", "terraform", "base", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"driftDetectionInterval":"2s"}}`)
	w.eventually(t, "drift is beside the merge commit", func() bool {
		s := w.result(t, commit, "base")
		return s.Result == forge.Failure && strings.HasPrefix(s.Description, "drifted") && w.status(t, commit).Result == forge.Failure && strings.Contains(w.ours(t, n)[0], "**drifted**")
	})
	w.eventually(t, "so says the planner", func() bool { return w.y.pull(t, w.ns, n).State == yubav1.PullRequestDrifted })
	before := w.written(t, n)
	checked := w.y.field(t, w.ns, "base", ".status.lastPlanAt")
	w.eventually(t, "there are two more checks", func() bool {
		now := w.y.field(t, w.ns, "base", ".status.lastPlanAt")
		return now != checked
	})
	if after := w.written(t, n); !after.Equal(before) {
		t.Errorf("drift was stated again: the comment of %s was written at %s", before, after)
	}
}

// result is the status of a stack beside a commit.
func (w *world) result(t *testing.T, commit, stack string) forge.Status {
	t.Helper()
	all, err := w.forge.Statuses(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "yuba/"+w.ns+"/"+stack {
			return s
		}
	}
	return forge.Status{}
}

// written is when our first comment was written last.
func (w *world) written(t *testing.T, n int) time.Time {
	t.Helper()
	comments, err := w.forge.Comments(t.Context(), n, zero)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range comments {
		if c.Mine {
			return c.Updated
		}
	}
	return time.Time{}
}
