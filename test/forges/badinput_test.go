// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// TestBadInput: a clear error, and nothing lost.
func TestBadInput(t *testing.T) {
	server, y := giteatest.Start(t), start(t)
	for name, test := range map[string]func(t *testing.T, w *world){
		"force":     forcePush,
		"gone":      branchGone,
		"renamed":   renamedRepository,
		"large":     threeThousandFiles,
		"submodule": submodules,
		"pointers":  pointers,
		"conflict":  conflicts,
		"hostile":   hostileNames,
		"fork":      programsOfForks,
		"twice":     twoPlanners,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, server, y, name, true)) })
	}
}

// slow is a stack whose plan takes some seconds, and which shows a word.
func slow(word string) map[string]string {
	return map[string]string{"stacks/c/main.tf": fmt.Sprintf("resource \"terraform_data\" \"c\" { input = \"%s-${length([for i in range(1024) : [for j in range(1024) : i * j] if length([for k in range(512) : k]) > 0])}\" }\n", word)}
}

// quick is a plan that shows a word.
func quick(word string) map[string]string {
	return map[string]string{"stacks/c/main.tf": fmt.Sprintf("resource \"terraform_data\" \"c\" { input = %q }\n", word)}
}

// forcePush: a push with force in the middle of a plan ends it; commits that are gone are never shown.
func forcePush(t *testing.T, w *world) {
	c := w.clone(t)
	first := c.push(t, "origin/main", "moving", slow("first"))
	n := w.Propose(t, forgetest.Alice, "moving", "Moving")
	w.eventually(t, "the first commit is being planned", func() bool {
		p := w.y.pull(t, w.ns, n)
		return p.Head == first && p.State == yubav1.PullRequestPlanning
	})
	second := c.push(t, "origin/main", "moving", quick("second"))
	p := w.until(t, n, second, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}
	w.eventually(t, "the comment has the second commit only", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "second") && !strings.Contains(texts[0], "first-") && w.status(t, second).Result == forge.Success
	})
	// Its base moves on, and it is rebased on that: what the base got is not shown as a change.
	w.Put(t, map[string]string{"stacks/b/more.tf": "resource \"terraform_data\" \"more\" {}\n"})
	third := c.push(t, "origin/main", "moving", quick("third"))
	p = w.until(t, n, third, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("after a rebase, planned are %s", got)
	}
	// The branch is reset to its base: nothing is left of the pull request, which Gitea keeps open.
	c.git(t, "push", "--quiet", "--force", "origin", "origin/main:refs/heads/moving")
	w.eventually(t, "nothing changes any more", func() bool {
		p := w.y.pull(t, w.ns, n)
		return p.Head != third && len(p.Stacks) == 0
	})
}

// branchGone: the forge closes the pull request, or shows it without a head.
func branchGone(t *testing.T, w *world) {
	c := w.clone(t)
	head := c.push(t, "origin/main", "short-lived", quick("soon"))
	n := w.Propose(t, forgetest.Alice, "short-lived", "Short")
	w.until(t, n, head, yubav1.PullRequestPlanned)
	c.git(t, "push", "--quiet", "origin", ":refs/heads/short-lived")
	w.eventually(t, "the planner forgets it", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })
	w.stillReady(t)
}

// stillReady fails unless the planner is ready.
func (w *world) stillReady(t *testing.T) {
	t.Helper()
	w.eventually(t, "the planner is ready", func() bool {
		for _, c := range w.y.planner(t, w.ns).Status.Conditions {
			if c.Type == "Ready" {
				return c.Status == "True"
			}
		}
		return false
	})
}

// renamedRepository: the old address leads to the new one, and hooks name the new one.
func renamedRepository(t *testing.T, w *world) {
	n := w.Create(t, forgetest.Pull{Branch: "before", Title: "Before", Author: forgetest.Alice, Write: quick("before")})
	w.until(t, n, "", yubav1.PullRequestPlanned)
	w.Rename(t, "platform")
	head := w.Push(t, n, quick("after"))
	w.until(t, n, head, yubav1.PullRequestPlanned)
	w.eventually(t, "there is still one comment", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "after")
	})
	w.stillReady(t)
}

// threeThousandFiles: Gitea lists 50 in a page.
func threeThousandFiles(t *testing.T, w *world) {
	files := map[string]string{"stacks/c/zzz.tf": "resource \"terraform_data\" \"last\" {}\n"}
	for i := range 3000 {
		files[fmt.Sprintf("notes/%02d/%04d.txt", i%50, i)] = fmt.Sprint(i)
	}
	head := w.clone(t).push(t, "origin/main", "large", files)
	n := w.Propose(t, forgetest.Alice, "large", "Large")
	p := w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" || p.Counts.Add != 1 {
		t.Errorf("planned are %s with %+v", got, p.Counts)
	}
}

// submodules: without recurseSubmodules their files are missing, and the error says where; with it, a submodule that
// moves changes the stacks that call it.
func submodules(t *testing.T, w *world) {
	c := w.clone(t)
	module := filepath.Join(t.TempDir(), "module")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	version := func(n int) {
		text := fmt.Sprintf("resource \"terraform_data\" \"m\" { input = %d }\n", n)
		if err := os.WriteFile(filepath.Join(module, "m.tf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"commit", "--quiet", "--message", "Version"}} {
			if out, err := command(module, args...).CombinedOutput(); err != nil {
				t.Fatalf("git: %v %s", err, out)
			}
		}
	}
	version(1)
	// The module is a branch of the same repository, so that the same credentials fetch it.
	address := w.Clone()
	publish := func() {
		cmd := command(module, "push", "--quiet", "--force", c.git(t, "remote", "get-url", "origin"), "HEAD:refs/heads/module")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git push: %v %s", err, out)
		}
	}
	publish()
	at := func() string {
		out, err := command(module, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	link := func(branch string, files map[string]string) string {
		c.git(t, "fetch", "--quiet", "origin")
		c.git(t, "checkout", "--quiet", "--detach", "--force", "origin/main")
		c.git(t, "update-index", "--add", "--cacheinfo", "160000,"+at()+",vendor/m")
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			c.git(t, "add", name)
		}
		c.git(t, "commit", "--quiet", "--message", "Link")
		c.git(t, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
		return c.git(t, "rev-parse", "HEAD")
	}
	head := link("linked", map[string]string{".gitmodules": fmt.Sprintf("[submodule \"m\"]\n\tpath = vendor/m\n\turl = %s\n", address),
		"stacks/c/main.tf": "module \"m\" { source = \"../../vendor/m\" }\n"})
	n := w.Propose(t, forgetest.Alice, "linked", "Linked")
	p := w.until(t, n, head, yubav1.PullRequestHeld)
	if got := names(p); got != "c Held" || !strings.Contains(p.Stacks[0].Message, "vendor/m") {
		t.Errorf("without submodules it is %s: %+v", got, p.Stacks)
	}
	w.y.run(t, "", "kubectl", "patch", "gitrepository", "-n", w.ns, "infra", "--type=merge", "-p", `{"spec":{"recurseSubmodules":true}}`)
	w.Say(t, n, forgetest.Alice, "/yuba replan")
	p = w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" || p.Counts.Add != 1 {
		t.Errorf("with submodules it is %s %+v", got, p.Counts)
	}
	commit := w.Merge(t, n)
	w.eventually(t, "the merge commit is planned", func() bool {
		return strings.Contains(w.y.field(t, w.ns, "c", ".status.lastPlannedRevision"), commit)
	})
	version(2)
	publish()
	head = link("moved", nil)
	n = w.Propose(t, forgetest.Alice, "moved", "Moved")
	p = w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("after the submodule has moved, planned are %q", got)
	}
}

// pointers of LFS are not the files: as code, they are an error with its place; as other files, they are harmless.
func pointers(t *testing.T, w *world) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	c := w.clone(t)
	head := c.push(t, "origin/main", "lfs", map[string]string{"stacks/c/logo.png": pointer, "stacks/c/more.tf": "resource \"terraform_data\" \"more\" {}\n"})
	n := w.Propose(t, forgetest.Alice, "lfs", "Large files")
	p := w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}
	head = c.push(t, "origin/main", "lfs", map[string]string{"stacks/c/main.tf": pointer})
	w.eventually(t, "code that is a pointer is not planned", func() bool {
		p = w.y.pull(t, w.ns, n)
		return p.Head == head && (p.State == yubav1.PullRequestHeld || p.State == yubav1.PullRequestFailed)
	})
	if !strings.Contains(p.Stacks[0].Message, "stacks/c/main.tf") {
		t.Errorf("it says %+v", p.Stacks)
	}
}

// conflicts: Gitea says with the same word that it has not checked yet, so that the head's changes are planned.
func conflicts(t *testing.T, w *world) {
	c := w.clone(t)
	head := c.push(t, "origin/main", "conflict", quick("theirs"))
	n := w.Propose(t, forgetest.Alice, "conflict", "Conflict")
	w.until(t, n, head, yubav1.PullRequestPlanned)
	w.Put(t, quick("ours"))
	head = c.push(t, head, "conflict", map[string]string{"stacks/c/more.tf": "resource \"terraform_data\" \"more\" {}\n"})
	p := w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}
	w.stillReady(t)
}

// hostileNames: names of branches and titles reach no shell, no markup and no path.
func hostileNames(t *testing.T, w *world) {
	c := w.clone(t)
	for i, branch := range []string{"-oProxyCommand=touch", "a;touch$IFS/tmp/x", "@everyone/<img>", "ü/\u202egnp.exe", "refs/heads/main", "x'\"`$(id)`|y", strings.Repeat("long/", 30) + "x"} {
		title := "@everyone <script>alert(1)</script> [x](https://evil.example.com) `" + branch + "` /yuba approve"
		head := c.push(t, "origin/main", branch, quick(fmt.Sprintf("odd-%d", i)))
		n := w.Propose(t, forgetest.Alice, branch, title)
		p := w.until(t, n, head, yubav1.PullRequestPlanned)
		if got := names(p); got != "c Planned" {
			t.Errorf("%q: planned are %s", branch, got)
		}
		w.Say(t, n, forgetest.Mallory, "<!-- yuba:x -->\n/yuba approve --commit "+head+" ; $(id)\n/yuba plan ../../etc @everyone <img src=x>\n> /yuba replan\n```\n/yuba help\n```")
		w.eventually(t, "the comment is answered", func() bool { return len(w.ours(t, n)) == 2 })
		for _, text := range w.ours(t, n) {
			html := w.HTML(t, text)
			for _, bad := range []string{"class=\"mention\"", "<img", "<script", "evil.example.com\""} {
				if strings.Contains(html, bad) {
					t.Errorf("%q: a comment shows %s:\n%s", branch, bad, html)
				}
			}
		}
		w.Close(t, n)
	}
	w.stillReady(t)
}

// programsOfForks: what a fork adds is not planned unasked, and a provisioner not even then.
func programsOfForks(t *testing.T, w *world) {
	n := w.Create(t, forgetest.Pull{Branch: "fork", Title: "Fork", Author: forgetest.Mallory, Fork: true, Write: map[string]string{
		"stacks/c/main.tf": "resource \"terraform_data\" \"c\" {\n  input = 7\n  provisioner \"local-exec\" {\n    command = \"env > /tmp/yuba-of-a-fork\"\n  }\n}\n"}})
	p := w.until(t, n, "", yubav1.PullRequestHeld)
	if len(p.Stacks) > 0 {
		t.Errorf("its code was read: %+v", p.Stacks)
	}
	w.Say(t, n, forgetest.Alice, "/yuba plan --commit "+p.Head)
	w.eventually(t, "the stack is held for its provisioner", func() bool {
		p = w.y.pull(t, w.ns, n)
		return p.State == yubav1.PullRequestHeld && len(p.Stacks) == 1 && strings.Contains(p.Stacks[0].Message, "local-exec")
	})
	if w.status(t, p.Head).Result == forge.Success {
		t.Error("its status is good")
	}
}

// twoPlanners: two planners, as of two servers, with one account at one repository. Each has its own comment, and
// neither writes again and again.
func twoPlanners(t *testing.T, w *world) {
	second := strings.Replace(fmt.Sprintf(planner, w.ns, "2s"), "name: prs", "name: second", 1) + "  feedback: {status: second, environment: second}\n"
	w.y.apply(t, second)
	n := w.Create(t, forgetest.Pull{Branch: "both", Title: "Both", Author: forgetest.Alice, Write: quick("both")})
	w.until(t, n, "", yubav1.PullRequestPlanned)
	w.eventually(t, "there are two comments", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 2 && strings.Contains(texts[0], "both") && strings.Contains(texts[1], "both")
	})
	head := w.Push(t, n, quick("again"))
	w.until(t, n, head, yubav1.PullRequestPlanned)
	w.eventually(t, "both are edited", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 2 && strings.Contains(texts[0], "again") && strings.Contains(texts[1], "again")
	})
	before, err := w.forge.Comments(t.Context(), n, zero)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // passes of both
		request := fmt.Sprintf("look-%d", i)
		for _, name := range []string{"prs", "second"} {
			w.y.run(t, "", "kubectl", "annotate", "--overwrite", "pullrequestplanner", "-n", w.ns, name, "reconcile.fluxcd.io/requestedAt="+request)
		}
		w.eventually(t, "both have looked", func() bool {
			out := w.y.run(t, "", "kubectl", "get", "pullrequestplanner", "-n", w.ns, "-o", "jsonpath={.items[*].status.lastHandledReconcileAt}")
			return out == request+" "+request
		})
	}
	after, err := w.forge.Comments(t.Context(), n, zero)
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if len(after) != 2 || !after[i].Updated.Equal(before[i].Updated) {
			t.Errorf("a comment was written again: %+v", after[i])
		}
	}
	statuses, err := w.forge.Statuses(t.Context(), head)
	if err != nil || len(statuses) != 2 {
		t.Errorf("the statuses are %+v: %v", statuses, err)
	}
}
