// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// networkHCL has a known output, one that is unknown until the apply, a sensitive one, and a contract
// with an unknown part.
const networkHCL = `
variable "size" { default = "one" }
resource "terraform_data" "vpc" { triggers_replace = var.size }
output "cidr" { value = "10.${length(var.size)}.0.0/16" }
output "id" { value = terraform_data.vpc.id }
output "token" {
  value     = "t0ken-${var.size}-hidden"
  sensitive = true
}
output "base" { value = { vpc_id = "vpc-${var.size}", subnets = [var.size], note = terraform_data.vpc.id } }
`

// previewLevels is the answer of "yuba impact --plan -o json".
type previewLevels struct {
	Planned content.Try
	Plans   []struct {
		Level  int
		Groups []struct {
			Result  string
			Stacks  []string
			Changes []string
			Error   string
			Needs   []struct{ Stack, Input string }
		}
		Rests []string
	}
}

// impact runs "yuba impact" and returns the answer in lines: "LEVEL RESULT: CHANGES or NEEDS: STACKS".
func (y *yuba) impact(t *testing.T, ns string, code int, args ...string) []string {
	t.Helper()
	out, news, got := y.run(t, append([]string{"impact", "-n", ns, "-o", "json"}, args...)...)
	var answer previewLevels
	if err := json.Unmarshal([]byte(out), &answer); err != nil || got != code {
		t.Fatalf("yuba impact %q: exit code %d, %v:\n%s%s", args, got, err, out, news)
	}
	if strings.Contains(out+news, "t0ken") {
		t.Errorf("a sensitive value is shown:\n%s%s", out, news)
	}
	lines := []string{"0 " + answer.Planned.Result() + ": " + strings.Join(answer.Planned.Changes, ", ")}
	for _, level := range answer.Plans {
		for _, g := range level.Groups {
			what := slices.Clone(g.Changes)
			for _, n := range g.Needs {
				what = append(what, n.Stack+" "+n.Input)
			}
			lines = append(lines, strings.Join([]string{string(rune('0'+level.Level)) + " " + g.Result, strings.Join(what, ", "), strings.Join(g.Stacks, ", ")}, ": "))
		}
		if len(level.Rests) > 0 {
			lines = append(lines, string(rune('0'+level.Level))+" rests: "+strings.Join(level.Rests, ", "))
		}
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], ns+"/", "")
	}
	return lines
}

func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func reading(secret string, keys ...string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.VarsFrom = append(o.Spec.VarsFrom, infrav1.VarsReference{Kind: "Secret", Name: secret, VarsKeys: keys})
	}
}

func templated(secret, values string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.ReadInputsFromSecrets = []infrav1.ReadInputsFromSecretSpec{{Name: secret, As: "net"}}
		o.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(values)}
	}
}

const valuesHCL = `
variable "values" {}
output "it" { value = var.values }
`

func TestAPlanIsCarriedToItsConsumers(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	network := inline(ns, "network", networkHCL, auto, outputsTo("net-out"), publishing("base", "1.2.0", "base"))
	cluster := func(name string) *infrav1.Terraform {
		// It reads all keys, and declares only what is known.
		return inline(ns, name, `
variable "cidr" {}
variable "token" { sensitive = true }
resource "terraform_data" "cluster" { input = [var.cidr, var.token] }
output "endpoint" { value = "https://${cidrhost(var.cidr, 10)}" }
`, auto, outputsTo(name+"-out"), reading("net-out"))
	}
	stacks := []client.Object{
		contract(ns, "base", "1.2.0", baseType), network, cluster("cluster-a"), cluster("cluster-b"),
		inline(ns, "by-id", "variable \"id\" {}\noutput \"it\" { value = var.id }\n", auto, reading("net-out", "id"), outputsTo("by-id-out")),
		inline(ns, "behind-id", "variable \"it\" {}\noutput \"it\" { value = var.it }\n", auto, reading("by-id-out", "it")),
		inline(ns, "by-template", valuesHCL, auto, templated("net-out", `{"cidr": "${{ .net.cidr }}"}`)),
		inline(ns, "compares", valuesHCL, auto, templated("net-out", `{"known": "${{ if eq .net.id \"x\" }}yes${{ end }}"}`)),
		inline(ns, "by-contract", clusterHCL, auto, consuming("base", "~> 1.2", "network")),
		inline(ns, "by-note", "variable \"base\" { type = object({ note = optional(string) }) }\noutput \"it\" { value = var.base.note }\n", auto,
			consuming("base", "~> 1.2", "network")),
		inline(ns, "app", "variable \"endpoint\" {}\noutput \"calls\" { value = var.endpoint }\n", auto, reading("cluster-a-out")),
	}
	y.create(t, stacks...)
	for _, s := range stacks[1:] {
		y.await(t, s.(*infrav1.Terraform), "it is ready", ready)
	}
	before := map[string]int{}
	for _, s := range stacks[1:] {
		before[s.GetName()] = y.runCount(t, s.(*infrav1.Terraform))
	}
	dir := directory(t, map[string]string{"main.tf": strings.Replace(networkHCL, `"one"`, `"three"`, 1)})
	got := y.impact(t, ns, 5, "network", "--dir", dir, "--plan")
	want := []string{
		"0 changes: -/+1 terraform_data.vpc (triggers_replace), ~ output base, ~ output cidr, ~ output id, ~ output token",
		"1 changes: ~1 terraform_data.cluster (input), ~ output endpoint: cluster-a, cluster-b",
		"1 changes: ~ output it: by-template",
		"1 changes: ~1 terraform_data.cluster (input), ~ output cluster: by-contract",
		"1 unknown: network output id: by-id, compares",
		"1 unknown: network contract base: base.note: by-note",
		"2 changes: ~ output calls: app",
		"2 unknown: by-id what by-id outputs: behind-id",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if lines := y.impact(t, ns, 5, "network", "--dir", dir, "--plan", "--levels", "1"); slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "2") }) {
		t.Errorf("more levels than asked for: %q", lines)
	}
	if lines := y.impact(t, ns, 0, "network", "--plan"); len(lines) != 2 || lines[0] != "0 no changes: " || !strings.HasPrefix(lines[1], "1 rests: ") {
		t.Errorf("a plan without changes: %q", lines)
	}
	for _, s := range stacks[1:] {
		obj := s.(*infrav1.Terraform)
		if n := y.runCount(t, obj); n != before[obj.Name] {
			t.Errorf("%s has %d runs, and had %d", obj.Name, n, before[obj.Name])
		}
		if now := y.now(t, obj); now.Status.Plan.Pending != "" || !ready(now) {
			t.Errorf("%s: the status has changed: %+v", obj.Name, now.Status.Plan)
		}
	}
}

func TestAPlanThatWouldBreakAConsumerSaysSo(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	network := inline(ns, "network", networkHCL, auto, outputsTo("net-out"), publishing("base", "1.2.0", "base"))
	reader := inline(ns, "reader", clusterHCL, auto, consuming("base", "~> 1.2", "network"))
	checks := inline(ns, "checks", `
variable "cidr" {
  validation {
    condition     = startswith(var.cidr, "10.3.")
    error_message = "must be ours"
  }
}
`, auto, reading("net-out", "cidr"))
	y.create(t, contract(ns, "base", "1.2.0", baseType), network, reader, checks)
	for _, s := range []*infrav1.Terraform{network, reader, checks} {
		y.await(t, s, "it is ready", ready)
	}
	dir := directory(t, map[string]string{"main.tf": strings.NewReplacer(`"one"`, `"three"`, `vpc_id = `, `vpc = `).Replace(networkHCL)})
	out, news, code := y.run(t, "impact", "network", "-n", ns, "--dir", dir, "--plan")
	if code != 4 || !containsAll(out, "failed\n    "+ns+"/reader", "breaks contract base 1.2.0: base.vpc_id is missing", "failed\n    "+ns+"/checks", "must be ours") {
		t.Errorf("exit code %d:\n%s%s", code, out, news)
	}
}

func TestPoliciesJudgeAnUploadedDirectoryFirst(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "network", networkHCL, auto)
	y.create(t, obj, policy(ns, yubav1.PolicyDeny, []yubav1.PolicyStage{yubav1.PolicyPrePlan}, builtin("no-external-data")))
	y.await(t, obj, "it is ready", ready)
	marker := filepath.Join(t.TempDir(), "executed")
	dir := directory(t, map[string]string{"main.tf": `data "external" "eager" { program = ["/bin/sh", "-c", "touch ` + marker + `; echo {}"] }`})
	out, news, code := y.run(t, "impact", "network", "-n", ns, "--dir", dir)
	if code != 4 || !containsAll(out+news, "refused by its policies", "no-external-data", "data.external.eager") {
		t.Errorf("exit code %d:\n%s%s", code, out, news)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program was executed")
	}
}

func TestARevisionOfARepositoryIsPlanned(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	repository := gittest.New(t, gittest.BasicAuth("git", "s3cret-password")).Repository(t, "live")
	repository.Commit(t, "one", gittest.Files{"envs/main.tf": networkHCL})
	y.create(t, secretOf(ns, "access", map[string]string{"username": "git", "password": "s3cret-password"}),
		&sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "live"}, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(),
			Interval: metav1.Duration{Duration: patience}, SecretRef: &meta.LocalObjectReference{Name: "access"}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}})
	obj := pushed(ns, "network", "live", auto, outputsTo("net-out"))
	obj.Spec.SourceRef.Kind, obj.Spec.Path = "GitRepository", "./envs"
	reader := inline(ns, "reader", "variable \"cidr\" {}\noutput \"it\" { value = var.cidr }\n", auto, reading("net-out", "cidr"))
	y.create(t, obj, reader)
	y.await(t, obj, "it is ready", ready)
	y.await(t, reader, "it is ready", ready)
	repository.Switch(t, "wider")
	commit := repository.Commit(t, "two", gittest.Files{"envs/main.tf": strings.Replace(networkHCL, `"one"`, `"three"`, 1)})
	for _, revision := range []string{"wider", "refs/heads/wider", commit} {
		lines := y.impact(t, ns, 0, "network", "--revision", revision, "--plan")
		if len(lines) != 2 || lines[1] != "1 changes: ~ output it: reader" {
			t.Errorf("%s: %q", revision, lines)
		}
	}
	out, news, code := y.run(t, "impact", "network", "-n", ns, "--revision", "nowhere")
	if code != 4 || !strings.Contains(out, `there is no branch "nowhere"`) || strings.Contains(out+news, "s3cret") {
		t.Errorf("exit code %d:\n%s%s", code, out, news)
	}
	if out, _, code = y.run(t, "impact", "reader", "-n", ns, "--revision", "main"); code != 4 || !strings.Contains(out, "is not a GitRepository") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestNothingOfAnUploadIsKept(t *testing.T) {
	t.Parallel()
	y := alone(t)
	ns := y.namespace(t)
	obj := inline(ns, "network", networkHCL, auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	before := y.left(t)
	const mark = "unmistakable-content-of-the-upload"
	dir := directory(t, map[string]string{"main.tf": networkHCL + "\noutput \"mark\" { value = \"" + mark + "\" }\n", "more.txt": strings.Repeat(mark, 2000)})
	if lines := y.impact(t, ns, 0, "network", "--dir", dir); len(lines) != 1 || !strings.Contains(lines[0], "+ output mark") {
		t.Errorf("%q", lines)
	}
	var bomb, link, packed bytes.Buffer
	forge(t, &bomb, tar.Header{Name: "main.tf", Mode: 0o644, Size: 256 << 20, Typeflag: tar.TypeReg})
	forge(t, &link, tar.Header{Name: "main.tf", Linkname: "../../etc/passwd", Typeflag: tar.TypeSymlink})
	if _, _, err := archive.Pack(t.Context(), dir, &packed, archive.PackOptions{}); err != nil {
		t.Fatal(err)
	}
	c := y.content(t)
	for sentence, body := range map[string][]byte{"a bomb": bomb.Bytes(), "a link out of it": link.Bytes(), "not an archive": []byte("hello"),
		"half an archive": packed.Bytes()[:packed.Len()/2]} {
		_, err := c.StartPreview(t.Context(), ns, "network", content.PreviewRequest{}, bytes.NewReader(body))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "the archive was refused") {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	y.eventuallySame(t, before)
}

// forge writes an archive with one entry; its content is zeros.
func forge(t *testing.T, to *bytes.Buffer, h tar.Header) {
	t.Helper()
	zipped := gzip.NewWriter(to)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	for left := h.Size; left > 0; left -= 1 << 20 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
}

// left are the files that sources and runs leave in the data directory.
func (y *yuba) left(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, dir := range []string{"blobs/artifacts", "blobs/runs", "runner/artifacts", "runner/trees", "work", "sources"} {
		err := filepath.WalkDir(filepath.Join(y.dir, dir), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && !entry.IsDir() {
				list = append(list, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// eventuallySame waits until the files are those from before: a run removes its own after its end.
func (y *yuba) eventuallySame(t *testing.T, before []string) {
	t.Helper()
	diff := ""
	comesTrue(t, func() bool {
		diff = cmp.Diff(before, y.left(t))
		return diff == ""
	}, func() string { return diff })
}

func TestSpeculativePlansNeedTheirRight(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	network := inline(ns, "network", networkHCL, auto, outputsTo("net-out"))
	reader := inline(ns, "reader", "variable \"cidr\" {}\noutput \"it\" { value = var.cidr }\n", auto, reading("net-out", "cidr"))
	y.create(t, network, reader)
	y.await(t, network, "it is ready", ready)
	y.await(t, reader, "it is ready", ready)
	clients := map[string]*content.Client{}
	for user, role := range map[string]string{"viewer-" + ns: "view", "editor-" + ns: "edit", "other-" + ns: "edit"} {
		y.may(t, ns, user, role)
		config, _ := y.as(t, user)
		c, err := content.NewClient(config)
		if err != nil {
			t.Fatal(err)
		}
		clients[strings.TrimSuffix(user, "-"+ns)] = c
	}
	var started content.Try
	comesTrue(t, func() bool {
		var err error
		started, err = clients["editor"].StartPreview(t.Context(), ns, "network", content.PreviewRequest{}, nil)
		return err == nil
	}, func() string { return "the editor cannot start a plan" })
	if _, err := clients["viewer"].StartPreview(t.Context(), ns, "network", content.PreviewRequest{}, nil); !apierrors.IsForbidden(err) {
		t.Errorf("a viewer starts a plan: %v", err)
	}
	for !started.Ended {
		var err error
		if started, err = clients["editor"].WaitForPreview(t.Context(), ns, "network", started.Run); err != nil {
			t.Fatal(err)
		}
	}
	if started.Outcome != run.OutcomeSucceeded {
		t.Fatalf("%+v", started)
	}
	from := content.PreviewRequest{From: []content.PlanOf{{Namespace: ns, Name: "network", Run: started.Run}}}
	// The planned outputs of another user's plan may come from a source that only that user has.
	if _, err := clients["other"].StartPreview(t.Context(), ns, "reader", from, nil); !apierrors.IsForbidden(err) {
		t.Errorf("another user plans with them: %v", err)
	}
	if _, err := clients["editor"].StartPreview(t.Context(), ns, "reader", from, nil); err != nil {
		t.Error(err)
	}
}

// now reads a stack.
func (y *yuba) now(t *testing.T, obj *infrav1.Terraform) *infrav1.Terraform {
	t.Helper()
	var now infrav1.Terraform
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), &now); err != nil {
		t.Fatal(err)
	}
	return &now
}

// comesTrue waits for what no watch tells.
func comesTrue(t *testing.T, is func() bool, otherwise func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise())
		}
	}
}
