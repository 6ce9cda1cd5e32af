// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// An id is hostile: it must not become a template of HCL.
func TestIDsAreQuoted(t *testing.T) {
	for id, want := range map[string]string{
		"vpc-1": `"vpc-1"`, `a"b`: `"a\"b"`, "${file(\"/etc/passwd\")}": `"$${file(\"/etc/passwd\")}"`, "%{ if true }": `"%%{ if true }"`, "a\nb": `"a\nb"`,
	} {
		if got := quoted(id); got != want {
			t.Errorf("%q is %s, want %s", id, got, want)
		}
	}
}

func TestImportBlocks(t *testing.T) {
	d := &directory{path: t.TempDir(), card: card{Module: "."}}
	all := []resource{{Address: "a.b", ID: "1"}, {Address: "a.none"}, {Address: "a.old", ID: "2", Deposed: true}, {Address: "a.left", ID: "3"}}
	if err := d.writeImports(all, []string{"a.left"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(d.module(), importsName))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "import {"); n != 1 || !strings.Contains(string(text), "to = a.b\n  id = \"1\"") {
		t.Errorf("%d blocks:\n%s", n, text)
	}
	for _, why := range []string{"a.none is not imported: its state has no attribute id", "a.old is not imported: it is deposed", "a.left is not imported: left out"} {
		if !strings.Contains(string(text), why) {
			t.Errorf("it does not say %q", why)
		}
	}
}

func TestManifestsForCrossplaneOnlyObserve(t *testing.T) {
	d := &directory{path: t.TempDir()}
	all := []resource{{Address: `module.net["a"].aws_vpc.this`, Type: "aws_vpc", ID: "vpc-1", attributes: json.RawMessage(`{"arn":"arn:aws:ec2:eu-west-1:1:vpc/vpc-1"}`)},
		{Address: "null_resource.x", Type: "null_resource", ID: "1"}}
	proof, err := d.writeCrossplane(all)
	if err != nil || !strings.Contains(proof, "1 of 2 resources, and nobody has applied them") {
		t.Fatalf("%s (%v)", proof, err)
	}
	files, err := filepath.Glob(filepath.Join(d.path, "manifests", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"crossplane.io/external-name: vpc-1", "- Observe", "region: eu-west-1", "kind: VPC", "deletionPolicy: Orphan"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

func TestDifferencesOfPlans(t *testing.T) {
	var plan shownPlan
	document := `{"resource_changes":[{"address":"a","change":{"actions":["no-op"],"importing":{"id":"1"}}},{"address":"b","change":{"actions":["read"]}},
		{"address":"c","change":{"actions":["delete","create"]}}],"output_changes":{"x":{"actions":["create"]}}}`
	if err := json.Unmarshal([]byte(document), &plan); err != nil {
		t.Fatal(err)
	}
	changes, imports := differences(&plan)
	if diff := cmp.Diff([][]string{{"c ([delete create])"}, {"a"}}, [][]string{changes, imports}); diff != "" {
		t.Error(diff)
	}
}

// The program is hostile: it may have symbolic links where the command writes.
func TestFilesStayInTheDirectory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("safe"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &directory{path: t.TempDir(), secrets: true, card: card{Module: "."}}
	if err := os.MkdirAll(d.module(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(d.module(), tfvarsName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(d.module(), "sub")); err != nil {
		t.Fatal(err)
	}
	if err := d.replace(filepath.Join(d.module(), tfvarsName), []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := d.replace(filepath.Join(d.module(), "sub", "victim"), []byte("{}")); err == nil {
		t.Error("a link out of the directory was followed")
	}
	c := &content{record: run.Record{Spec: run.Spec{Files: []run.File{{Location: run.FileInModule, Path: "../../x", Content: []byte("x")}}}}}
	if err := d.writeFiles(c); err == nil {
		t.Error("a file outside was written")
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "safe" {
		t.Errorf("the file outside has %q (%v)", text, err)
	}
}

func TestCardsDoNotLeaveTheirDirectory(t *testing.T) {
	for _, module := range []string{"../..", "/etc"} {
		dir := t.TempDir()
		text, err := json.Marshal(card{Handover: moving.Handover{ID: "x"}, Module: module})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, cardName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readCard(dir); err == nil {
			t.Errorf("module %s was accepted", module)
		}
	}
}

// After a take-back, no command of the owner's tofu works in the directory.
func TestADisarmedDirectoryRefusesTofu(t *testing.T) {
	d := &directory{path: t.TempDir(), card: card{Module: ".", Namespace: "team", Name: "vpc"}}
	if err := d.replace(filepath.Join(d.module(), "main.tf"), []byte(`resource "terraform_data" "a" {}`)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), tofutest.Tofu(t), args...)
		cmd.Dir, cmd.Env = d.module(), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{{"init", "-input=false"}, {"plan", "-input=false"}, {"apply", "-auto-approve", "-input=false"}} {
		if out, err := run(args...); err != nil {
			t.Fatalf("before: %s", out)
		}
	}
	if err := d.disarm(moving.Handover{To: toTofu}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-input=false"}, {"plan", "-input=false"}, {"apply", "-auto-approve", "-input=false"}, {"destroy", "-auto-approve"}} {
		if out, err := run(args...); err == nil || !strings.Contains(out, "was taken back by Yuba") {
			t.Errorf("tofu %s: %v\n%s", args[0], err, out)
		}
	}
}
