// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"regexp"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

const numbered = "resource \"terraform_data\" \"c\" { input = %d }\n"

func TestPlansAreAppliedBeforeTheMerge(t *testing.T) {
	server, y := giteatest.Start(t), start(t)
	t.Run("apply, merge, and a second pull request", func(t *testing.T) { beforeMerge(t, newWorld(t, server, y, "before", false)) })
	t.Run("code that is not planned", func(t *testing.T) { barred(t, newWorld(t, server, y, "barred", false)) })
	t.Run("two planners of one repository", func(t *testing.T) { twoEnvironments(t, newWorld(t, server, y, "twice", false)) })
}

// offered is the command in our comment that begins so.
func (w *world) offered(t *testing.T, number int, command, head string) (found string) {
	t.Helper()
	pattern := regexp.MustCompile("`(/yuba " + command + " --commit " + head + "[^`]*)`")
	w.eventually(t, "the comment offers to "+command, func() bool {
		for _, text := range w.ours(t, number) {
			if match := pattern.FindStringSubmatch(text); match != nil {
				found = match[1]
				return true
			}
		}
		return false
	})
	return found
}

// check is the required status.
func (w *world) check(t *testing.T, commit string) forge.Status {
	t.Helper()
	all, err := w.forge.Statuses(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "yuba/apply" {
			return s
		}
	}
	return forge.Status{}
}

// says waits until one of our comments has a text.
func (w *world) says(t *testing.T, number int, text string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the comments of pull request %d:\n%s", number, strings.Join(w.ours(t, number), "\n---\n"))
		}
	}()
	w.eventually(t, "a comment says "+text, func() bool { return strings.Contains(strings.Join(w.ours(t, number), "\n"), text) })
}

func (w *world) held(t *testing.T, stack string) string {
	t.Helper()
	return w.y.field(t, w.ns, stack, ".metadata.annotations.yuba\\.dev/pull-request")
}

func (w *world) applied(t *testing.T, stack, commit string) {
	t.Helper()
	w.eventually(t, stack+" has applied "+commit, func() bool {
		return strings.Contains(w.y.field(t, w.ns, stack, ".status.lastAppliedRevision"), commit)
	})
}

// review approves and applies a head that is planned.
func (w *world) review(t *testing.T, n int, head string) {
	t.Helper()
	w.Say(t, n, giteatest.Root, w.offered(t, n, "approve", head))
	w.Say(t, n, forgetest.Alice, w.offered(t, n, "apply", head))
}

func content(n string) map[string]string {
	return map[string]string{"stacks/c/main.tf": strings.Replace(numbered, "%d", n, 1)}
}

func beforeMerge(t *testing.T, w *world) {
	w.Protect(t, "yuba/apply")
	// The stack applies by itself what its branch has: only the lock keeps it where the pull request is.
	w.y.run(t, "", "kubectl", "patch", "terraform", "c", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"approvePlan":"auto"}}`)
	w.y.run(t, "", "kubectl", "patch", "pullrequestplanner", "prs", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"apply":{"when":"BeforeMerge"}}}`)

	n := w.Create(t, forgetest.Pull{Branch: "two", Title: "Two", Author: forgetest.Alice, Write: content("2")})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	head := p.Head
	w.eventually(t, "the required check is pending", func() bool { return w.check(t, head).Result == forge.Pending })
	if refuses, says := w.Refuses(t, n); !refuses {
		t.Fatalf("Gitea merges what is not applied: %s", says)
	}
	w.Say(t, n, forgetest.Alice, "/yuba apply --commit "+head)
	w.says(t, n, "No member except for the author")
	if got := w.held(t, "c"); got != "" {
		t.Errorf("the stack is locked without an approval: %s", got)
	}
	w.review(t, n, head)
	w.applied(t, "c", head)
	w.eventually(t, "the required check is good", func() bool { return w.check(t, head).Result == forge.Success })

	// A second pull request waits, and both say so.
	other := w.Create(t, forgetest.Pull{Branch: "more", Title: "More", Author: forgetest.Alice, Write: map[string]string{"stacks/c/more.tf": "output \"more\" { value = 1 }\n"}})
	second := w.until(t, other, "", yubav1.PullRequestPlanned)
	w.review(t, other, second.Head)
	w.says(t, other, "has locked the stack")
	w.says(t, n, "waits for this stack")
	// The branch moves on, and reverts nothing.
	moved := w.Put(t, map[string]string{"README.md": "# moved on\n"})
	w.eventually(t, "the branch is fetched", func() bool {
		return strings.Contains(w.y.run(t, "", "kubectl", "get", "gitrepository", "infra", "-n", w.ns, "-o", "jsonpath={.status.artifact.revision}"), moved)
	})
	if got := w.y.field(t, w.ns, "c", ".status.lastAppliedRevision"); !strings.Contains(got, head) || w.y.field(t, w.ns, "c", ".status.plan.pending") != "" {
		t.Errorf("the stack is at %s", got)
	}

	commit := w.Merge(t, n)
	w.eventually(t, "the stack follows its branch again", func() bool {
		return !strings.Contains(w.held(t, "c"), head)
	})
	w.eventually(t, "the planner forgets what is merged", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })
	if got := w.status(t, commit).Result; got != forge.Success {
		t.Errorf("the status of the merge commit is %q", got)
	}
	w.says(t, other, "Merge the base into the branch")
	if got := w.y.field(t, w.ns, "c", ".status.lastAppliedRevision"); !strings.Contains(got, head) {
		t.Errorf("something was applied after the merge: %s", got)
	}

	// It is brought up to date, applied and closed: the way back waits for a person.
	latest := w.Push(t, other, content("2"))
	w.until(t, other, latest, yubav1.PullRequestPlanned)
	w.review(t, other, latest)
	w.applied(t, "c", latest)
	w.Close(t, other)
	w.eventually(t, "the stack returns by a plan that waits", func() bool {
		return strings.Contains(w.held(t, "c"), "released") && strings.HasPrefix(w.y.field(t, w.ns, "c", ".status.plan.pending"), "plan-main-")
	})
	w.y.run(t, "", "approve", "c", "-n", w.ns, "--wait")
	w.eventually(t, "nothing holds the stack any more", func() bool { return w.held(t, "c") == "" })
}

// barred: the required check of code that is not planned has a result, and another commit changes it.
func barred(t *testing.T, w *world) {
	w.Protect(t, "yuba/apply")
	w.y.run(t, "", "kubectl", "patch", "pullrequestplanner", "prs", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"apply":{"when":"BeforeMerge"}}}`)
	n := w.Create(t, forgetest.Pull{Branch: "programs", Title: "Programs", Author: forgetest.Alice, Write: map[string]string{"stacks/c/main.tf": "data \"external\" \"x\" { program = [\"env\"] }\n"}})
	p := w.until(t, n, "", yubav1.PullRequestHeld)
	w.eventually(t, "the required check says why it is never good", func() bool {
		check := w.check(t, p.Head)
		return check.Result == forge.Failure && strings.Contains(check.Description, "spec.programs")
	})
	head := w.Push(t, n, map[string]string{"stacks/c/main.tf": "# without programs\n" + content("1")["stacks/c/main.tf"]})
	w.until(t, n, head, yubav1.PullRequestPlanned)
	w.eventually(t, "the required check is good", func() bool { return w.check(t, head).Result == forge.Success })
	w.Merge(t, n)
}

// twoEnvironments: each planner has a comment and a status of its own, and leaves the other's alone.
func twoEnvironments(t *testing.T, w *world) {
	w.y.run(t, "", "kubectl", "label", "terraform", "a", "-n", w.ns, "environment=prod")
	w.y.run(t, "", "kubectl", "patch", "pullrequestplanner", "prs", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"stackSelector":{"matchLabels":{"environment":"prod"}},"feedback":{"environment":"prod"}}}`)
	w.y.apply(t, strings.NewReplacer("%[1]s", w.ns, "%[2]s", "2s", "name: prs", "name: others").Replace(planner)+
		"  stackSelector: {matchExpressions: [{key: environment, operator: DoesNotExist}]}\n  feedback: {status: yuba/others, environment: others}\n")
	n := w.Create(t, forgetest.Pull{Branch: "both", Title: "Both", Author: forgetest.Alice, Write: changed(2)})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	if got := names(p); got != "a Planned" {
		t.Errorf("planned are %s", got)
	}
	w.eventually(t, "both have a comment and a status", func() bool {
		texts := w.ours(t, n)
		all, err := w.forge.Statuses(t.Context(), p.Head)
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		for _, s := range all {
			if (s.Name == "yuba" || s.Name == "yuba/others") && s.Result == forge.Success {
				good++
			}
		}
		both := strings.Join(texts, "\n")
		return good == 2 && len(texts) == 2 && strings.Contains(both, `"a-2"`) && strings.Contains(both, `"b-2"`)
	})
	edits := func() (out []string) {
		comments, err := w.forge.Comments(t.Context(), n, zero)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			out = append(out, c.ID+" "+c.Updated.String())
		}
		return out
	}
	before := edits()
	for _, name := range []string{"prs", "others"} { // a pass of each
		w.y.run(t, "", "kubectl", "annotate", "pullrequestplanner", name, "-n", w.ns, "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
		w.eventually(t, "a pass over "+name, func() bool {
			return w.y.run(t, "", "kubectl", "get", "pullrequestplanner", name, "-n", w.ns, "-o", "jsonpath={.status.lastHandledReconcileAt}") == "now"
		})
	}
	if after := edits(); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("the planners edit comments for ever: %q, then %q", before, after)
	}
}
