// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// TestEnvironments: one planner sets a status for each environment, and Gitea can require one of them.
func TestEnvironments(t *testing.T) {
	server, y := giteatest.Start(t), start(t)
	w := newWorld(t, server, y, "stages", true)
	for stack, environment := range map[string]string{"a": "prod", "b": "staging"} {
		y.run(t, "", "kubectl", "label", "terraform", stack, "-n", w.ns, "environment="+environment)
	}
	y.run(t, "", "kubectl", "patch", "pullrequestplanner", "prs", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"feedback":{"environmentLabel":"environment"}}}`)
	w.Protect(t, "yuba/prod")

	// It breaks staging only. Prod has a status, too, as Gitea requires it.
	n := w.Create(t, forgetest.Pull{Branch: "staging", Title: "Staging", Author: forgetest.Alice, Write: map[string]string{"stacks/b/more.tf": "resource \"terraform_data\" \"b\" { input = nothing.like.this }\n"}})
	p := w.until(t, n, "", yubav1.PullRequestFailed)
	w.statuses(t, p.Head, "yuba failure, yuba/prod success, yuba/staging failure")
	head := w.Push(t, n, map[string]string{"stacks/b/more.tf": "output \"more\" { value = 1 }\n", "stacks/a/more.tf": "resource \"terraform_data\" \"a\" { input = nothing.like.this }\n"})
	w.until(t, n, head, yubav1.PullRequestFailed)
	w.statuses(t, head, "yuba failure, yuba/prod failure, yuba/staging success")
	w.eventually(t, "yuba pr show has the environments", func() bool {
		table := y.run(t, "", "pr", "show", fmt.Sprint(n), "-n", w.ns)
		var one struct {
			Environments []yubav1.PullRequestEnvironment `json:"environments"`
		}
		if err := json.Unmarshal([]byte(y.run(t, "", "pr", "show", fmt.Sprint(n), "-n", w.ns, "-o", "json")), &one); err != nil {
			t.Fatal(err)
		}
		want := []yubav1.PullRequestEnvironment{{Name: "prod", Status: "yuba/prod", Result: "failure"}, {Name: "staging", Status: "yuba/staging", Result: "success"}}
		return slices.Equal(one.Environments, want) && regexp.MustCompile(`(?m)^ENVIRONMENT +RESULT +STATUS\nprod +failure +yuba/prod\nstaging +success +yuba/staging$`).MatchString(table)
	})
	if refuses, says := w.Refuses(t, n); !refuses {
		t.Errorf("Gitea merges although prod fails: %s", says)
	}
	// The stack without an environment counts for all only.
	head = w.Push(t, n, map[string]string{"stacks/a/more.tf": "# nothing\n", "stacks/c/more.tf": "resource \"terraform_data\" \"more\" { input = nothing.like.this }\n"})
	w.until(t, n, head, yubav1.PullRequestFailed)
	w.statuses(t, head, "yuba failure, yuba/prod success, yuba/staging success")
	commit := w.Merge(t, n)
	w.eventually(t, "the merge commit has the statuses of environments", func() bool {
		return strings.Contains(w.results(t, commit), "yuba/prod ") && strings.Contains(w.results(t, commit), "yuba/staging ")
	})
}

// results are all statuses of a commit.
func (w *world) results(t *testing.T, commit string) string {
	t.Helper()
	all, err := w.forge.Statuses(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range all {
		texts = append(texts, s.Name+" "+string(s.Result))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// statuses waits for the statuses of a commit.
func (w *world) statuses(t *testing.T, commit, want string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the statuses are %s", w.results(t, commit))
		}
	}()
	w.eventually(t, "the statuses are "+want, func() bool { return w.results(t, commit) == want })
}

// TestTwoServers: two servers of one repository, with one account, leave the comments and statuses of the other alone.
func TestTwoServers(t *testing.T) {
	server := giteatest.Start(t)
	seen := &between{}
	worlds := map[string]*world{"east": newWorld(t, server, start(t), "east", false)}
	east := worlds["east"]
	west := secondServer(t, east, "west")
	worlds["west"] = west
	proxy := seen.proxy(t, east.URL)
	for name, w := range worlds {
		w.y.run(t, "", "kubectl", "patch", "pullrequestplanner", "prs", "-n", w.ns, "--type", "merge", "-p",
			`{"spec":{"feedback":{"status":"yuba/`+name+`","environment":"`+name+`"},"apply":{"when":"BeforeMerge"},"forge":{"address":"`+proxy+`/api/v1"}}}`)
	}
	n := east.Create(t, forgetest.Pull{Branch: "both", Title: "Both", Author: forgetest.Alice, Write: content("2")})
	head := ""
	for _, w := range worlds {
		head = w.until(t, n, "", yubav1.PullRequestPlanned).Head
	}
	east.statuses(t, head, "yuba/east success, yuba/east/apply pending, yuba/west success, yuba/west/apply pending")
	head = east.Push(t, n, content("3"))
	for _, w := range worlds {
		w.until(t, n, head, yubav1.PullRequestPlanned)
	}
	east.eventually(t, "each has edited its comment", func() bool {
		texts := east.ours(t, n)
		return len(texts) == 2 && strings.Count(strings.Join(texts, "\n"), head) >= 2 && strings.Contains(texts[0]+texts[1], "east") && strings.Contains(texts[0]+texts[1], "west")
	})
	east.statuses(t, head, "yuba/east success, yuba/east/apply pending, yuba/west success, yuba/west/apply pending")

	seen.take()
	for i := range 3 {
		for _, w := range worlds {
			w.look(t, string(rune('1'+i)))
		}
	}
	for _, one := range seen.take() {
		if one.method != "GET" {
			t.Errorf("a pass without news writes: %s %s %.200s", one.method, one.path, one.body)
		}
	}
	// Both read commands, and each applies to its own stacks.
	pattern := regexp.MustCompile("`(/yuba approve --commit " + head + " --plans [0-9a-f]+)`")
	var offered [][]string
	east.eventually(t, "both offer to approve their plans", func() bool {
		offered = pattern.FindAllStringSubmatch(strings.Join(east.ours(t, n), "\n"), -1)
		return len(offered) == 2 && offered[0][1] != offered[1][1]
	})
	for _, match := range offered {
		east.Say(t, n, giteatest.Root, match[1])
	}
	east.Say(t, n, forgetest.Alice, "/yuba apply --commit "+head)
	for _, w := range worlds {
		w.applied(t, "c", head)
	}
	east.statuses(t, head, "yuba/east success, yuba/east/apply success, yuba/west success, yuba/west/apply success")
	commit := east.Merge(t, n)
	for name, w := range worlds {
		w.eventually(t, name+" releases its stack", func() bool { return w.held(t, "c") == "" })
	}
	east.eventually(t, "both say so at the merge commit", func() bool {
		all := east.results(t, commit)
		return strings.Contains(all, "yuba/east success") && strings.Contains(all, "yuba/west success")
	})
}

// secondServer follows the repository of a world with another server, which has the same stacks.
func secondServer(t *testing.T, first *world, ns string) *world {
	t.Helper()
	w := &world{World: first.World, y: start(t), ns: ns, forge: first.forge}
	w.follow(t, false)
	return w
}

// look makes a pass.
func (w *world) look(t *testing.T, request string) {
	t.Helper()
	w.y.run(t, "", "kubectl", "annotate", "--overwrite", "pullrequestplanner", "-n", w.ns, "prs", "reconcile.fluxcd.io/requestedAt="+request)
	w.eventually(t, "a pass", func() bool { return w.y.planner(t, w.ns).Status.GetLastHandledReconcileRequest() == request })
}
