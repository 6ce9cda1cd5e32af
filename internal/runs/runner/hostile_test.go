// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// TestHostileProgramGetsNothing runs HCL and shell that try to read other stacks' files, keys,
// blobs, the spool with its tokens, and the runner's environment.
func TestHostileProgramGetsNothing(t *testing.T) {
	b := newBench(t)
	loot := map[string]string{
		"keys/blob.agekey":         "LOOT-key",
		"blobs/artifacts/x":        "LOOT-blob",
		"work/team/victim/src/x":   "LOOT-neighbour",
		"work/team/victim/home/.x": "LOOT-home",
		"runner/runs/other/token":  "LOOT-token",
		"kubeconfig":               "LOOT-kubeconfig",
	}
	for name, text := range loot {
		path := filepath.Join(b.data, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.RemoveAll(filepath.Join(b.opts.Dir, "runs", "other", spool.SpecFile))
	process := b.process()
	r := b.stack("hostile", run.OperationPlanAndApply, program(hostile(b.data, process.Process.Pid)))
	b.server.submit(r)
	result := b.server.finished(r)
	if !result.Confined {
		t.Fatalf("the run was not confined, so nothing below would prove anything: %+v", result)
	}
	if result.Outcome != run.OutcomeSucceeded {
		t.Fatalf("%+v\n%s", result, r.log)
	}
	everything := string(r.log) + string(r.lastState()) + string(execution.Encode(result))
	for _, part := range []string{"LOOT", "parent-environment", b.server.credential, r.token} {
		if strings.Contains(everything, part) {
			t.Errorf("the program got %q", part)
		}
	}
	if !strings.Contains(string(r.lastState()), "I-was-here") || strings.Count(everything, "denied") < len(loot) {
		t.Errorf("the program did not try:\n%s", r.lastState())
	}
	if _, err := os.Lstat(filepath.Join(b.data, "work/team/victim/src/planted")); err == nil {
		t.Error("the program wrote into another stack")
	}
}

// hostile is a program that tries all known ways.
func hostile(data string, runner int) string {
	return fmt.Sprintf(`
locals {
  data = %q
  paths = [
    "../../victim/src/x", "../../victim/home/.x", "${local.data}/work/team/victim/src/x", "${local.data}/keys/blob.agekey",
    "${local.data}/blobs/artifacts/x", "${local.data}/runner/connection.json", "${local.data}/kubeconfig",
    "/proc/%d/environ", "/etc/shadow", "${local.data}/work/team/hostile/workspace.json",
  ]
  found = concat(
    [for p in local.paths : try(file(p), "denied")],
    [for p in local.paths : try(filebase64(p), "denied")],
    [for p in local.paths : try(templatefile(p, {}), "denied")],
    try(tolist(fileset("${local.data}/runner/runs", "**")), []),
    try(tolist(fileset("${local.data}/work/team/victim", "**")), []),
    try(tolist(fileset("../..", "victim/**")), []),
  )
}
resource "terraform_data" "hcl" { input = local.found }
resource "terraform_data" "mark" { input = "I-was-here" }
resource "terraform_data" "shell" {
  provisioner "local-exec" {
    command = <<-EOT
      for p in ${join(" ", local.paths)} ${local.data}/runner/runs/*/token /proc/[0-9]*/environ; do cat "$p" || echo denied; done
      ls -R ${local.data} ..
      find / -name '*agekey*' 2>/dev/null | while read f; do cat "$f"; done
      echo x > ../../victim/src/planted || echo denied
      ln ../../victim/src/x stolen && cat stolen
      ln -s ../../victim/src/x link && cat link
      kill -0 %d && echo LO''OT-signal
      true
    EOT
  }
}
`, data, runner, runner)
}

// TestLinksOfTheProgramAreNotFollowed replaces files of the runner by links to files that only the
// runner can reach.
func TestLinksOfTheProgramAreNotFollowed(t *testing.T) {
	b := newBench(t).start()
	victim := filepath.Join(b.data, "victim.json")
	const text = `{"LOOT":"of another stack"}`
	if err := os.WriteFile(victim, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	first := b.stack("links", run.OperationPlanAndApply, program(fmt.Sprintf(`
variable "v" {}
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "ln -sf %[1]s errored.tfstate; ln -sf %[1]s .terraform.lock.hcl; ln -sf %[1]s link; (rm generated.auto.tfvars.json yuba_override.tf; ln -s %[1]s yuba_override.tf; ln -s %[1]s generated.auto.tfvars.json) 2>/dev/null; true"
  }
}`, victim)))
	first.spec.Variables = map[string]run.Variable{"v": {Value: []byte(`"x"`)}}
	b.do(first)
	second := first.again(run.OperationPlanAndApply)
	second.spec.Upgrade = true
	b.do(second)
	for _, r := range []*fakeRun{first, second} {
		everything := string(r.log) + string(execution.Encode(r.result)) + string(r.result.LockFile)
		for _, state := range r.states {
			everything += string(state)
		}
		if strings.Contains(everything, "LOOT") {
			t.Errorf("a link was followed:\n%s", everything)
		}
	}
	if now, err := os.ReadFile(victim); err != nil || string(now) != text {
		t.Errorf("the victim now has %q (%v)", now, err)
	}
}
