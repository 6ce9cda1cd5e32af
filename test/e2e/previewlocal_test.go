// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestADirectoryIsPreviewedAsTofuPlans(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "network", networkHCL, auto)
	y.create(t, obj)
	before := y.await(t, obj, "it is ready", ready)
	same, wider := directory(t, map[string]string{"main.tf": networkHCL}), directory(t, map[string]string{"main.tf": strings.Replace(networkHCL, `"one"`, `"three"`, 1)})
	for sentence, c := range map[string]struct {
		args []string
		code int
		out  []string
	}{
		"nothing changes":               {[]string{same}, 0, []string{"No changes."}},
		"nothing changes, and detailed": {[]string{same, "--detailed-exitcode"}, 0, []string{"No changes."}},
		"changes":                       {[]string{wider}, 0, []string{"terraform_data.vpc must be replaced", "Plan: 1 to add, 0 to change, 1 to destroy.", "(sensitive value)"}},
		"changes, and detailed":         {[]string{wider, "--detailed-exitcode"}, 2, []string{"Plan: 1 to add"}},
		"for a program":                 {[]string{wider, "-o", "json"}, 0, []string{`"plan": {`, `"outcome": "succeeded"`}},
	} {
		out, news, code := y.run(t, append([]string{"preview", "--stack", "network", "-n", ns}, c.args...)...)
		if code != c.code || !containsAll(out, c.out...) || strings.Contains(out+news, "t0ken") {
			t.Errorf("%s: exit code %d:\n%s\n%s", sentence, code, out, news)
		}
		if strings.HasPrefix(sentence, "changes") && !strings.Contains(news, "terraform_data.vpc: Refreshing state") {
			t.Errorf("%s: the log is not shown:\n%s", sentence, news)
		}
	}
	broken := directory(t, map[string]string{"main.tf": "output \"x\" {\n  value = nope.y\n}\n"})
	for _, c := range []struct {
		args []string
		code int
	}{{nil, 4}, {[]string{"--detailed-exitcode"}, 1}} {
		out, news, code := y.run(t, append([]string{"preview", broken, "--stack", ns + "/network"}, c.args...)...)
		if code != c.code || out != "" || !containsAll(news, "on main.tf line 2", "Reference to undeclared resource", "the plan of "+ns+"/network failed") {
			t.Errorf("exit code %d:\n%s\n%s", code, out, news)
		}
	}
	if _, news, code := y.run(t, "preview", broken, "--stack", "nowhere", "-n", ns); code != 3 {
		t.Errorf("a missing stack: exit code %d: %s", code, news)
	}
	if _, news, code := y.run(t, "preview", broken, "-n", ns); code != 1 || !strings.Contains(news, "--stack NAME") {
		t.Errorf("not a repository: exit code %d: %s", code, news)
	}
	now := y.await(t, obj, "it is there", func(*infrav1.Terraform) bool { return true })
	if diff := cmp.Diff(before.Status, now.Status); diff != "" {
		t.Errorf("the status has changed: %s", diff)
	}
}

// clone is a repository with stacks that follow it, and its working tree.
type clone struct {
	*gittest.Repository
	y  *yuba
	ns string
}

// cloned makes a repository with the root modules net, app and lone; net and app share a module.
func cloned(t *testing.T, y *yuba, ns string) *clone {
	t.Helper()
	r := gittest.New(t, gittest.BasicAuth("git", "s3cret-password")).Repository(t, "live")
	r.Commit(t, "one", gittest.Files{
		"modules/tag/main.tf": "variable \"name\" {}\noutput \"tag\" { value = \"tag-${var.name}\" }\n",
		"net/main.tf":         "module \"tag\" {\n  source = \"../modules/tag\"\n  name   = \"net\"\n}\nresource \"terraform_data\" \"vpc\" { input = module.tag.tag }\noutput \"vpc\" { value = terraform_data.vpc.input }\n",
		"app/main.tf":         "module \"tag\" {\n  source = \"../modules/tag\"\n  name   = \"app\"\n}\noutput \"app\" { value = module.tag.tag }\n",
		"lone/main.tf":        "variable \"size\" { default = 1 }\noutput \"lone\" { value = var.size }\n",
		"docs/README.md":      "text",
	})
	r.Git(t, "remote", "add", "http", r.URL())
	source := func(name, branch string) *sourcev1.GitRepository {
		return &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: sourcev1.GitRepositorySpec{URL: r.URL(),
			Interval: metav1.Duration{Duration: patience}, SecretRef: &meta.LocalObjectReference{Name: "access"}, Reference: &sourcev1.GitRepositoryRef{Branch: branch}}}
	}
	of := func(name, from string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
		obj := pushed(ns, name, from, append(change, auto)...)
		obj.Spec.SourceRef.Kind, obj.Spec.Path = "GitRepository", "./"+strings.TrimPrefix(name, "prod-")
		return obj
	}
	r.Git(t, "push", "--quiet", "origin", "HEAD:refs/heads/prod")
	y.create(t, secretOf(ns, "access", map[string]string{"username": "git", "password": "s3cret-password"}), source("live", "main"), source("prod", "prod"))
	stacks := []*infrav1.Terraform{of("net", "live", outputsTo("net-out")), of("app", "live"), of("lone", "live"), of("prod-lone", "prod"),
		inline(ns, "reader", "variable \"vpc\" {}\noutput \"it\" { value = var.vpc }\n", auto, reading("net-out", "vpc"))}
	for _, obj := range stacks {
		y.create(t, obj)
	}
	for _, obj := range stacks {
		y.await(t, obj, "it is ready", ready)
	}
	return &clone{r, y, ns}
}

// write changes the working tree; an empty text removes a file.
func (c *clone) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(c.Tree(), filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil && text == "" {
			err = os.Remove(full)
		} else if err == nil {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// look runs a command in the namespace and the working tree, and returns "STACK RESULT FILES" of each plan.
func (c *clone) look(t *testing.T, code int, args ...string) (lines []string, answer map[string]any) {
	t.Helper()
	out, news, got := c.y.run(t, append(slices.Clone(args), c.Tree(), "-n", c.ns, "-o", "json")...)
	var view struct {
		Stacks []struct {
			Name, Outcome string
			Changes       []string
			Files         []string
		}
	}
	if err := json.Unmarshal([]byte(out), &view); err != nil || got != code {
		t.Fatalf("%q: exit code %d, want %d: %v\n%s\n%s", args, got, code, err, out, news)
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range view.Stacks {
		lines = append(lines, fmt.Sprintf("%s %s %d %s", s.Name, s.Outcome, len(s.Changes), strings.Join(s.Files, ",")))
	}
	return lines, answer
}

func TestAWorkingTreeIsPreviewed(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c := cloned(t, y, ns)
	none := []string(nil)
	for _, step := range []struct {
		what  string
		files map[string]string
		want  []string
	}{
		{"nothing differs", nil, none},
		{"a file that nobody reads", map[string]string{"docs/README.md": "other"}, none},
		{"a new file of a root module, which git does not know yet", map[string]string{"lone/more.tf": "output \"more\" { value = 1 }\n"},
			[]string{"lone succeeded 1 lone/more.tf"}},
		{"a shared module", map[string]string{"lone/more.tf": "", "modules/tag/main.tf": "variable \"name\" {}\noutput \"tag\" { value = \"TAG-${var.name}\" }\n"},
			[]string{"app succeeded 1 modules/tag/main.tf", "net succeeded 2 modules/tag/main.tf"}},
	} {
		c.write(t, step.files)
		lines, answer := c.look(t, 0, "preview", "--impact")
		if diff := cmp.Diff(step.want, lines); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		if answer["target"] != "main" || !strings.Contains(fmt.Sprint(answer["skipped"]), "it follows the branch prod") {
			t.Errorf("%s: %v", step.what, answer)
		}
		if step.want != nil && len(step.want) == 2 && !strings.Contains(fmt.Sprint(answer["reached"]), ns+"/reader") {
			t.Errorf("%s: it does not reach the stack that reads from net: %v", step.what, answer["reached"])
		}
	}
	if lines, _ := c.look(t, 0, "preview", "--target", "prod"); lines != nil {
		t.Errorf("the stack of prod does not read the module: %q", lines)
	}
	c.write(t, map[string]string{"app/main.tf": "output \"x\" { value = nope.y }\n"})
	if lines, _ := c.look(t, 4, "preview"); len(lines) != 2 || lines[0] != "app failed 0 app/main.tf,modules/tag/main.tf" {
		t.Errorf("%q", lines)
	}
	out, news, code := y.run(t, "preview", filepath.Join(c.Tree(), "net"), "-n", ns)
	if code != 4 || !containsAll(out, "app/main.tf:1: Reference to undeclared resource", ns+"/net", "changes") || strings.Contains(out+news, "s3cret") {
		t.Errorf("exit code %d:\n%s\n%s", code, out, news)
	}
	if out := c.Git(t, "status", "--porcelain"); out != "M app/main.tf\n M docs/README.md\n M modules/tag/main.tf" {
		t.Errorf("the working tree has changed:\n%s", out)
	}
}

func TestACommitIsPreviewedBehindTheClone(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c := cloned(t, y, ns)
	// Somebody else has pushed what this clone does not have: its content comes from the server.
	behind := filepath.Join(t.TempDir(), "behind")
	c.Git(t, "clone", "--quiet", "--no-local", c.Tree(), behind)
	c.Git(t, "-C", behind, "remote", "set-url", "origin", c.URL())
	c.Commit(t, "two", gittest.Files{"lone/main.tf": "output \"lone\" { value = 2 }\n"})
	var source sourcev1.GitRepository
	deadline := time.Now().Add(patience)
	for !strings.Contains(fmt.Sprint(source.Status.Artifact), c.Git(t, "rev-parse", "HEAD")) {
		if time.Now().After(deadline) {
			t.Fatalf("the GitRepository does not have the commit: %+v", source.Status)
		}
		if _, news, code := y.run(t, "reconcile", "source", "git", "live", "-n", ns); code != 0 {
			t.Fatalf("reconcile: %s", news)
		}
		if err := y.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "live"}, &source); err != nil {
			t.Fatal(err)
		}
	}
	out, news, code := y.run(t, "preview", behind, "-n", ns, "--target", "main")
	if code != 0 || !containsAll(out, ns+"/lone") || strings.Contains(out, ns+"/net") || !strings.Contains(news, "its content is fetched from the server") {
		t.Errorf("exit code %d:\n%s\n%s", code, out, news)
	}
}

func TestAJobPlansAPullRequest(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c := cloned(t, y, ns)
	y.create(t, policy(ns, yubav1.PolicyDeny, nil, builtin("no-destroy")))
	world := forgefake.GitHub(t)
	number := world.Create(t, forgetest.Simple("change"))
	config := world.Config(t, forgetest.Full)
	dir := t.TempDir()
	token, summary, issues := filepath.Join(dir, "token"), filepath.Join(dir, "summary.md"), filepath.Join(dir, "issues.json")
	if err := os.WriteFile(token, []byte(string(config.Credentials.Token)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := []string{"ci", c.Tree(), "-n", ns, "--base", "main", "--target", "main", "--forge", "github", "--repository", config.Repository, "--pull-request", fmt.Sprint(number),
		"--forge-token-file", token, "--summary", summary, "--code-quality", issues}
	c.Git(t, "switch", "--quiet", "--create", "change")
	commit := func(files map[string]string) {
		t.Helper()
		c.write(t, files)
		c.Git(t, "add", "--all")
		c.Git(t, "commit", "--quiet", "--message", "change")
	}
	commented := func() string {
		t.Helper()
		f, err := dial.Open(config)
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Comments(t.Context(), number, time.Time{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d comments, want one: %v", len(all), err)
		}
		return all[0].Text
	}
	commit(map[string]string{"lone/main.tf": "output \"lone\" { value = 7 }\n"})
	c.write(t, map[string]string{"app/main.tf": "not committed"})
	out, news, code := y.run(t, job...)
	if code != 0 || !containsAll(out, ns+"/lone", "::stop-commands::") || strings.Contains(out, ns+"/app") || !containsAll(commented(), "1 changed output", "`"+ns+"/lone`") {
		t.Errorf("exit code %d:\n%s\n%s\n%s", code, out, news, commented())
	}
	c.Git(t, "checkout", "--quiet", ".")
	commit(map[string]string{"net/main.tf": "output \"vpc\" { value = \"gone\" }\n", "lone/main.tf": "output \"lone\" { value = nope.y }\n"})
	out, news, code = y.run(t, job...)
	if code != 4 || !containsAll(out, "::error file=lone/main.tf,line=1,title=Reference to undeclared resource::", "::error file=net/main.tf,title=Policy Policy/"+ns+"/safe no-destroy::") {
		t.Errorf("exit code %d:\n%s\n%s", code, out, news)
	}
	if text := commented(); !containsAll(text, "2 stacks: 1 failed, 1 refused by policy, 1 to destroy**", "no-destroy: terraform_data.vpc", "lone/main.tf") {
		t.Errorf("the comment is not edited:\n%s", text)
	}
	commit(map[string]string{"lone/main.tf": "output \"lone\" { value = 7 }\n"})
	if out, news, code = y.run(t, job...); code != 6 || !strings.Contains(news, "policies refuse 1 plan") {
		t.Errorf("exit code %d:\n%s\n%s", code, out, news)
	}
	written, err := os.ReadFile(summary)
	if err != nil || strings.Count(string(written), "### Yuba") != 3 {
		t.Errorf("the summary: %v\n%s", err, written)
	}
	if report, err := os.ReadFile(issues); err != nil || !strings.Contains(string(report), `"path": "net/main.tf"`) {
		t.Errorf("the report: %v\n%s", err, report)
	}
	world.Fault(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
	})
	out, news, code = y.run(t, job...)
	if code != 6 || !strings.Contains(news, "Warning: the pull request has no comment about these plans") || strings.Contains(out+news, string(config.Credentials.Token)) {
		t.Errorf("a forge that is down: exit code %d:\n%s\n%s", code, out, news)
	}
	next := "refs/heads/change " + c.Git(t, "rev-parse", "HEAD") + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
	if out, news, code = y.runWith(t, next, "preview", c.Tree(), "-n", ns, "--pre-push"); code != 6 || !strings.Contains(out, ns+"/net") {
		t.Errorf("a push: exit code %d:\n%s\n%s", code, out, news)
	}
}
