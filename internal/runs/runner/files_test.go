// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// findBelow returns the files below the working directories with a text in content or name.
func (b *bench) findBelow(text string) []string {
	b.t.Helper()
	var found []string
	err := filepath.WalkDir(b.opts.WorkRoot, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(path, text) || bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestFilesAreThereForTheRunOnly(t *testing.T) {
	const secret = "top-s3cr3t-line-of-a-file"
	b := newBench(t).start()
	r := b.stack("files", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  input = filesha256("${path.module}/certs/deep/ca.pem")
  provisioner "local-exec" { command = "stat -c '%a %n' ~/.ssh/key certs/deep/ca.pem; cat ~/.ssh/key" }
}`))
	r.spec.Files = []run.File{
		{Location: run.FileInHome, Path: ".ssh/key", Content: []byte("first line\n" + secret + "\n"), Secret: true},
		{Location: run.FileInModule, Path: "certs/deep/ca.pem", Content: []byte("\x00binary\xff"), Secret: true},
		{Location: run.FileInModule, Path: "extra.tf", Content: []byte("output \"joined\" { value = \"by-a-file\" }\n")},
	}
	b.succeed(r)
	home := b.walls().HomeOf(confinement.Cell{Home: filepath.Join(b.opts.WorkRoot, "team", "files", workspace.HomeDir)})
	for _, part := range []string{"600 certs/deep/ca.pem", "600 " + home + "/.ssh/key"} {
		if !strings.Contains(string(r.log), part) {
			t.Errorf("no %q in\n%s", part, r.log)
		}
	}
	if strings.Contains(string(r.log), secret) || !strings.Contains(string(r.lastState()), "by-a-file") {
		t.Errorf("a file was not masked, or did not join the module:\n%s\n%s", r.log, r.lastState())
	}
	second := r.again(run.OperationPlan)
	second.spec.Files = nil
	result := b.do(second)
	if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, "ca.pem") {
		t.Errorf("the files are still there for the next run: %+v", result)
	}
	b.drain()
	if found := append(b.findBelow(secret), b.findBelow("extra.tf")...); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
}

func TestWarmPassWithFilesStartsOneProcess(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("warm-files", run.OperationPlanAndApply, map[string]string{"main.tf.tpl": "not read here", "values.tfvars": "v = 1\n"})
	r.spec.Files = []run.File{
		{Location: run.FileInModule, Path: "main.tf", Content: []byte("variable \"v\" {}\n" + twoThings)},
		{Location: run.FileInHome, Path: ".netrc", Content: []byte("machine a login b password c3cr3t"), Secret: true},
	}
	r.spec.VarFiles, r.spec.CLIConfig = []string{"values.tfvars"}, []byte("credentials \"a.example\" {\n  token = \"t0ken-x\"\n}\n")
	b.succeed(r)
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.succeed(r.again(run.OperationPlan)))); diff != "" {
		t.Errorf("the second pass: %s", diff)
	}
	other := r.again(run.OperationPlan)
	other.spec.Files = append([]run.File(nil), r.spec.Files...)
	other.spec.Files[1].Content = []byte("machine a login b password an0ther")
	if diff := cmp.Diff([]run.Step{run.StepInit, run.StepPlan}, processes(b.succeed(other))); diff != "" {
		t.Errorf("with another file: %s", diff)
	}
}

// linked is an archive with links, which inline programs cannot have.
func linked(t *testing.T, files, links map[string]string) (archive []byte, digest string) {
	t.Helper()
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	w := tar.NewWriter(gz)
	write := func(h *tar.Header, content string) {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		write(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, content)
	}
	for name, target := range links {
		write(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}, "")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes(), spool.Digest(packed.Bytes())
}

func TestLinksOfTheSourceDoNotRedirectFiles(t *testing.T) {
	b := newBench(t).start()
	const text = "output \"o\" { value = file(\"public/index.html\") }\n"
	archive, digest := linked(t, map[string]string{"main.tf": text, "public/index.html": "hello"},
		map[string]string{"certs": "public", "ca.pem": "public/index.html"})
	for path, want := range map[string]string{"certs/ca.pem": "a file or link has that name", "ca.pem": "", "public": "there is a directory of that name"} {
		r := b.stack("linked-"+strings.ReplaceAll(filepath.Base(path), ".", ""), run.OperationPlanAndApply, nil)
		if path == "certs/ca.pem" {
			r = b.stack("linked-dir", run.OperationPlanAndApply, nil)
		}
		r.artifact, r.spec.Artifact.Digest, r.spec.Artifact.Size = archive, digest, int64(len(archive))
		r.spec.Files = []run.File{{Location: run.FileInModule, Path: path, Content: []byte("s3cr3t-of-the-file"), Secret: true}}
		result := b.do(r)
		if want == "" && (result.Outcome != run.OutcomeSucceeded || !strings.Contains(string(r.lastState()), "hello")) ||
			want != "" && (result.Class != run.FailureConfiguration || !strings.Contains(result.Error, want)) {
			t.Errorf("%s: %+v\n%s", path, result, r.lastState())
		}
	}
}

func TestFilesThatMayNotBeWritten(t *testing.T) {
	b := newBench(t).start()
	for path, location := range map[string]run.FileLocation{
		"../escape": run.FileInHome, "/etc/passwd": run.FileInHome, "a/../../b": run.FileInModule, "": run.FileInModule, ".": run.FileInHome,
		"terraform.tfstate": run.FileInModule, ".terraform/terraform.tfstate": run.FileInModule, workspace.OverrideTF: run.FileInModule,
		workspace.TfvarsName: run.FileInModule, "terraform.tfstate.d/x/terraform.tfstate": run.FileInModule, "x": "elsewhere",
	} {
		r := b.stack("forbidden", run.OperationPlan, program(twoThings))
		r.spec.Files = []run.File{{Location: location, Path: path, Content: []byte("x")}}
		if result := b.do(r); result.Class != run.FailureConfiguration || result.FailedStep != run.StepPrepare {
			t.Errorf("%s %q: %+v", location, path, result)
		}
	}
}

// TestFilesOfALostRunAreRemoved has the record of a run that ended unobserved.
func TestFilesOfALostRunAreRemoved(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("lost-files", run.OperationPlan, program(twoThings))
	b.succeed(first)
	base := filepath.Join(b.opts.WorkRoot, "team", "lost-files")
	record, err := os.ReadFile(filepath.Join(base, workspace.RecordName))
	if err != nil {
		t.Fatal(err)
	}
	record = bytes.Replace(record, []byte(`{`), []byte(`{"placed":["home/key","src/gone/key"],`), 1)
	for name, content := range map[string][]byte{workspace.RecordName: record, "home/key": []byte("s3cr3t"), "home/other": []byte("of the program")} {
		b.put(filepath.Join(base, name), content)
	}
	b.succeed(first.again(run.OperationPlan))
	for _, name := range []string{"home/key", "home/other"} {
		if _, err := os.Stat(filepath.Join(base, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestRemovingFilesFollowsNoLinks replaces the directory of a file by a link.
func TestRemovingFilesFollowsNoLinks(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("replaced", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "rm -r d && ln -s mine d && mkdir mine && echo x > mine/key" }
}`))
	r.spec.Files = []run.File{{Location: run.FileInModule, Path: "d/key", Content: []byte("s3cr3t-content"), Secret: true}}
	b.succeed(r)
	b.drain()
	if _, err := os.Stat(filepath.Join(b.opts.WorkRoot, "team", "replaced", workspace.SourceDir, "mine", "key")); err != nil {
		t.Errorf("what the link leads to was removed: %v", err)
	}
}

func TestFilesOfValuesWinInTheirOrder(t *testing.T) {
	b := newBench(t).start()
	files := map[string]string{
		"live/main.tf":      "variable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {}\noutput \"o\" { value = \"${var.a}-${var.b}-${var.c}\" }\n",
		"env/one.tfvars":    "a = \"one\"\nb = \"one\"\n",
		"env/two.tfvars":    "b = \"two\"\n",
		"env/x.tfvars.json": `{"c": "json"}`,
		// A file that the tool reads implicitly, also in the apply.
		"live/terraform.tfvars": "b = \"by itself\"\n",
	}
	r := b.stack("values", run.OperationPlanAndApply, files)
	r.spec.Path, r.spec.VarFiles = "live", []string{"env/one.tfvars", "env/two.tfvars", "env/x.tfvars.json"}
	r.spec.Variables = map[string]run.Variable{"a": {Value: []byte(`"spec"`)}, "c": {Value: []byte(`"spec"`)}}
	b.succeed(r)
	if !strings.Contains(string(r.lastState()), `"one-two-json"`) {
		t.Errorf("state:\n%s", r.lastState())
	}
	for _, name := range []string{"env/gone.tfvars", "env", "../other/src/x.tfvars"} {
		missing := r.again(run.OperationPlan)
		missing.spec.VarFiles = []string{name}
		if result := b.do(missing); result.Class != run.FailureConfiguration || result.FailedStep != run.StepPlan || !strings.Contains(result.Error, name) {
			t.Errorf("%s: %+v", name, result)
		}
	}
}
