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
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// hidden is a sensitive value of the stacks: no comment may have it.
const hidden = "s3cr3t-of-the-stack"

// program is a repository with a module of two stacks, and a stack without modules.
var program = map[string]string{
	"modules/net/main.tf": "variable \"name\" {}\nresource \"terraform_data\" \"net\" { input = \"${var.name}-1\" }\noutput \"name\" { value = terraform_data.net.output }\n",
	"stacks/a/main.tf":    "variable \"password\" {\n  sensitive = true\n}\nmodule \"net\" {\n  source = \"../../modules/net\"\n  name   = \"a\"\n}\nresource \"terraform_data\" \"key\" { input = var.password }\n",
	"stacks/b/main.tf":    "module \"net\" {\n  source = \"../../modules/net\"\n  name   = \"b\"\n}\n",
	"stacks/c/main.tf":    "resource \"terraform_data\" \"c\" { input = 1 }\n",
}

const repository = `
apiVersion: v1
kind: Secret
metadata: {name: gitea, namespace: %[1]s}
stringData: {username: yuba-bot, password: %[3]s, token: %[3]s}
---
apiVersion: v1
kind: Secret
metadata: {name: hook, namespace: %[1]s}
stringData: {token: %[4]s}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: %[1]s}
stringData: {password: %[5]s}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: infra, namespace: %[1]s}
spec: {interval: 2s, url: %[2]s, ref: {branch: main}, secretRef: {name: gitea}}
`

const stackOf = `
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  interval: 1h
  path: ./stacks/%[2]s
  approvePlan: %[3]q
  sourceRef: {kind: GitRepository, name: infra}
`

const planner = `
apiVersion: yuba.dev/v1alpha1
kind: PullRequestPlanner
metadata: {name: prs, namespace: %[1]s}
spec:
  interval: %[2]s
  forge: {type: gitea, secretRef: {name: gitea}}
  merge: {approveReviewed: true}
`

const webhook = "  webhook: {secretRef: {name: hook}}\n"

// world is a repository at Gitea that stacks of a namespace follow.
type world struct {
	*giteatest.World
	y     *yuba
	ns    string
	forge forge.Forge
}

func newWorld(t testing.TB, server *giteatest.Server, y *yuba, ns string, hooks bool) *world {
	t.Helper()
	w := &world{World: server.World(t, dial.Open), y: y, ns: ns}
	w.forge = w.Open(t, w.Config(t, forgetest.Full))
	w.Put(t, program)
	w.follow(t, hooks)
	return w
}

// follow makes the stacks of the repository, and a planner.
func (w *world) follow(t testing.TB, hooks bool) {
	t.Helper()
	y, ns := w.y, w.ns
	y.run(t, "", "kubectl", "create", "namespace", ns)
	manifests := fmt.Sprintf(repository, ns, w.Clone(), w.Token(forgetest.Full), secret, hidden)
	manifests += fmt.Sprintf(stackOf, ns, "a", "auto") + "  varsFrom: [{kind: Secret, name: password}]\n"
	manifests += fmt.Sprintf(stackOf, ns, "b", "auto") + fmt.Sprintf(stackOf, ns, "c", "auto")
	y.apply(t, manifests)
	for _, name := range []string{"a", "b", "c"} {
		y.run(t, "", "kubectl", "wait", "-n", ns, "--for=condition=Ready", "--timeout=2m", "terraform/"+name)
	}
	// From now on a person approves.
	for _, name := range []string{"a", "b", "c"} {
		y.run(t, "", "kubectl", "patch", "terraform", name, "-n", ns, "--type", "merge", "-p", `{"spec":{"approvePlan":""}}`)
	}
	p, every := planner, "2s"
	if hooks {
		p, every = planner+webhook, "1h"
	}
	y.apply(t, fmt.Sprintf(p, ns, every))
	w.eventually(t, "the planner is ready", func() bool {
		p := y.planner(t, ns)
		for _, c := range p.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return !hooks || p.Status.WebhookPath != ""
			}
		}
		return false
	})
	if hooks {
		w.Hook(t, "http://"+y.http+y.planner(t, ns).Status.WebhookPath, secret)
	}
}

func (w *world) eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("not so after %s: %s\n%+v", patience, what, w.y.planner(t, w.ns).Status)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// until waits until a pull request is in a state, at a commit if one is given, and returns what the planner shows.
func (w *world) until(t testing.TB, number int, commit string, state yubav1.PullRequestState) (p yubav1.PullRequestStatus) {
	t.Helper()
	w.eventually(t, fmt.Sprintf("pull request %d is %s at %s", number, state, commit), func() bool {
		p = w.y.pull(t, w.ns, number)
		return p.State == state && (commit == "" || p.Head == commit)
	})
	return p
}

// ours are our comments, which must not have the secret.
func (w *world) ours(t testing.TB, number int) (texts []string) {
	t.Helper()
	comments, err := w.forge.Comments(t.Context(), number, zero)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range comments {
		if c.Mine {
			texts = append(texts, c.Text)
			if strings.Contains(c.Text, hidden) {
				t.Errorf("a comment has the secret:\n%s", c.Text)
			}
		}
	}
	return texts
}

// status is the result of our status of a commit.
func (w *world) status(t testing.TB, commit string) forge.Status {
	t.Helper()
	all, err := w.forge.Statuses(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "yuba" {
			return s
		}
	}
	return forge.Status{}
}

// zero is the time before everything.
var zero time.Time

func names(p yubav1.PullRequestStatus) string {
	var all []string
	for _, s := range p.Stacks {
		_, name, _ := strings.Cut(s.Name, "/")
		all = append(all, name+" "+string(s.State))
	}
	return strings.Join(all, ", ")
}

func TestPullRequestsArePlanned(t *testing.T) {
	server, y := giteatest.Start(t), start(t)
	t.Run("from branch to comment to review to merge to apply", func(t *testing.T) { life(t, newWorld(t, server, y, "life", true)) })
	t.Run("without webhooks", func(t *testing.T) { polled(t, newWorld(t, server, y, "polled", false)) })
	t.Run("manifests of Kustomizations", func(t *testing.T) { manifests(t, newWorld(t, server, y, "manifests", false)) })
	t.Run("the stacks behind, results and drift", func(t *testing.T) { behind(t, newWorld(t, server, y, "behind", true)) })
	t.Run("a restart", func(t *testing.T) { restarted(t, newWorld(t, server, y, "restarted", false)) })
	t.Run("the branch planner of tofu-controller", func(t *testing.T) { adopted(t, newWorld(t, server, y, "adopted", false)) })
}

// changed is the module with other content.
func changed(n int) map[string]string {
	return map[string]string{"modules/net/main.tf": strings.ReplaceAll(program["modules/net/main.tf"], "-1\"", fmt.Sprintf("-%d\"", n))}
}

func life(t *testing.T, w *world) {
	n := w.Create(t, forgetest.Pull{Branch: "wider", Title: "A wider @net <b>", Author: forgetest.Alice, Write: changed(2)})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	if got := names(p); got != "a Planned, b Planned" || p.Counts.Change != 2 {
		t.Errorf("planned are %s with %+v", got, p.Counts)
	}
	var texts []string
	w.eventually(t, "the comment has the plans", func() bool {
		texts = w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], `"a-2"`) && w.status(t, p.Head).Result == forge.Success
	})

	head := w.Push(t, n, changed(3))
	p = w.until(t, n, head, yubav1.PullRequestPlanned)
	w.eventually(t, "the comment is edited", func() bool {
		texts = w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], `"a-3"`) && !strings.Contains(texts[0], `"a-2"`) && w.status(t, head).Result == forge.Success
	})

	w.Review(t, n, forgetest.Bob, forge.Approved) // he may only read
	w.Say(t, n, forgetest.Bob, "/yuba approve --commit "+head)
	w.eventually(t, "a reader's command is refused", func() bool {
		texts = w.ours(t, n)
		return len(texts) == 2 && strings.Contains(texts[1], "needs the right to write")
	})
	// Gitea's times have whole seconds: an approval in that of the comment may be from before.
	seen := time.Now().Unix()
	w.eventually(t, "a second has passed since the comment", func() bool { return time.Now().Unix() > seen })
	w.Say(t, n, giteatest.Root, "/yuba approve --commit "+head)
	w.eventually(t, "a member's command is read", func() bool { return w.reacted(t, n) })
	commit := w.Merge(t, n)
	w.eventually(t, "both stacks have applied the merge commit", func() bool {
		return strings.Contains(w.y.field(t, w.ns, "a", ".status.lastAppliedRevision"), commit) && strings.Contains(w.y.field(t, w.ns, "b", ".status.lastAppliedRevision"), commit)
	})
	w.eventually(t, "the merge commit has a good status", func() bool { return w.status(t, commit).Result == forge.Success })
	w.eventually(t, "the planner forgets it", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })
	if decision := w.y.field(t, w.ns, "a", ".metadata.annotations.yuba\\.dev/decision"); !strings.Contains(decision, giteatest.Root) {
		t.Errorf("the decision does not name who reviewed: %s", decision)
	}
}

// reacted reports whether the newest command was seen.
func (w *world) reacted(t testing.TB, n int) bool {
	t.Helper()
	return w.Reactions(t, n, giteatest.Root)
}

func polled(t *testing.T, w *world) {
	n := w.Create(t, forgetest.Pull{Branch: "one", Title: "One", Author: forgetest.Alice, Write: map[string]string{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 2 }\n"}})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}
	head := w.Push(t, n, map[string]string{"stacks/c/main.tf": "data \"external\" \"x\" { program = [\"env\"] }\n"})
	p = w.until(t, n, head, yubav1.PullRequestHeld)
	if got := names(p); got != "c Held" || !strings.Contains(p.Stacks[0].Message, "data.external.x") {
		t.Errorf("held are %s: %+v", got, p.Stacks)
	}
	head = w.Push(t, n, map[string]string{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = nothing.like.this }\n"})
	p = w.until(t, n, head, yubav1.PullRequestFailed)
	w.eventually(t, "the error is shown with its place", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "stacks/c/main.tf") && w.status(t, head).Result == forge.Failure
	})
	w.Close(t, n)
	w.eventually(t, "the planner forgets it", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })

	fork := w.Create(t, forgetest.Pull{Branch: "fork", Title: "Fork", Author: forgetest.Mallory, Fork: true, Write: map[string]string{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 7 }\n"}})
	p = w.until(t, fork, "", yubav1.PullRequestHeld)
	w.Say(t, fork, forgetest.Mallory, "/yuba plan --commit "+p.Head)
	w.eventually(t, "a stranger's command is refused", func() bool { return len(w.ours(t, fork)) == 2 })
	if got := w.y.pull(t, w.ns, fork).State; got != yubav1.PullRequestHeld {
		t.Errorf("it is %s", got)
	}
	w.Say(t, fork, forgetest.Alice, "/yuba plan --commit "+p.Head)
	p = w.until(t, fork, "", yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}
	head = w.Push(t, fork, map[string]string{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 8 }\n"})
	w.until(t, fork, "", yubav1.PullRequestHeld)
	if p := w.y.pull(t, w.ns, fork); p.Head != head || len(p.Stacks) > 0 {
		t.Errorf("after a push nobody allowed: %+v", p)
	}
}
