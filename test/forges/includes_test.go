// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"fmt"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

// shared is a GitRepository that another one includes. It is fetched hourly: what is merged must not wait for that.
const shared = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shared, namespace: %[1]s}
spec: {interval: 1h, url: %[2]s, ref: {branch: main}, secretRef: {name: gitea}}
`

func net(n int) map[string]string {
	return map[string]string{"net/main.tf": fmt.Sprintf("resource \"terraform_data\" \"shared\" { input = \"shared-%d\" }\n", n)}
}

// TestIncludes: a pull request in an included repository changes the stacks of the including one.
func TestIncludes(t *testing.T) {
	server, y := giteatest.Start(t), start(t)
	w := newWorld(t, server, y, "includes", true)
	s := server.World(t, dial.Open)
	s.Put(t, net(1))
	y.apply(t, fmt.Sprintf(shared, w.ns, s.Clone()))
	w.Put(t, map[string]string{"stacks/i/main.tf": "module \"net\" { source = \"../../vendor/net\" }\n"})
	y.run(t, "", "kubectl", "patch", "gitrepository", "-n", w.ns, "infra", "--type=merge", "-p",
		`{"spec":{"include":[{"repository":{"name":"shared"},"fromPath":"net","toPath":"vendor/net"}]}}`)
	y.apply(t, fmt.Sprintf(stackOf, w.ns, "i", "auto"))
	y.run(t, "", "kubectl", "wait", "-n", w.ns, "--for=condition=Ready", "--timeout=2m", "terraform/i")
	y.run(t, "", "kubectl", "patch", "terraform", "i", "-n", w.ns, "--type", "merge", "-p", `{"spec":{"approvePlan":""}}`)
	y.run(t, "", "kubectl", "patch", "gitrepository", "-n", w.ns, "infra", "--type=merge", "-p", `{"spec":{"interval":"1h"}}`)
	s.Hook(t, "http://"+y.http+y.planner(t, w.ns).Status.WebhookPath, secret)
	// The forge of the pull requests of s. Those of w have other numbers as long as there are none.
	of := &world{World: s, y: y, ns: w.ns, forge: s.Open(t, s.Config(t, forgetest.Full))}

	files := net(2)
	files["dns/main.tf"] = "# nobody includes it\n"
	n := s.Create(t, forgetest.Pull{Branch: "shared", Title: "Shared", Author: forgetest.Alice, Write: files})
	p := of.until(t, n, "", yubav1.PullRequestPlanned)
	if got := names(p); got != "i Planned" || p.Source != "shared" || p.Counts.Change != 1 {
		t.Errorf("planned are %s of %s with %+v", got, p.Source, p.Counts)
	}
	of.eventually(t, "the comment has the plan", func() bool {
		texts := of.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "shared-2") && of.status(t, p.Head).Result == forge.Success
	})
	// The code of the included repository is judged like that of the including one.
	head := s.Push(t, n, map[string]string{"net/main.tf": "data \"external\" \"x\" { program = [\"id\"] }\n"})
	p = of.until(t, n, head, yubav1.PullRequestHeld)
	if got := names(p); got != "i Held" || !strings.Contains(p.Stacks[0].Message, "vendor/net/main.tf") {
		t.Errorf("held are %s: %+v", got, p.Stacks)
	}
	head = s.Push(t, n, net(3))
	of.until(t, n, head, yubav1.PullRequestPlanned)

	commit := s.Merge(t, n)
	of.eventually(t, "the stack has a plan of the merge commit, which waits", func() bool {
		p = of.y.pull(t, w.ns, n)
		return p.State == yubav1.PullRequestMerged && len(p.Stacks) == 1 && strings.Contains(p.Stacks[0].Message, "through the GitRepository infra")
	})
	y.run(t, "", "approve", "i", "-n", w.ns)
	of.eventually(t, "it is applied, and the planner forgets the pull request", func() bool {
		return strings.Contains(y.run(t, "", "state", "show", "-n", w.ns, "i", "module.net.terraform_data.shared"), "shared-3") && of.y.pull(t, w.ns, n).Number == 0
	})
	if got := of.status(t, commit).Result; got != forge.Success {
		t.Errorf("the merge commit is %s", got)
	}

	// The including repository is planned with what it includes.
	n = w.Create(t, forgetest.Pull{Branch: "including", Title: "Including", Author: forgetest.Alice, Write: map[string]string{
		"stacks/i/main.tf": "module \"net\" { source = \"../../vendor/net\" }\nresource \"terraform_data\" \"own\" {}\n"}})
	w.eventually(t, "the including repository is planned", func() bool {
		for _, p = range y.planner(t, w.ns).Status.PullRequests {
			if p.Source == "infra" && p.State == yubav1.PullRequestPlanned {
				return names(p) == "i Planned" && p.Counts.Add == 1 && p.Counts.Change+p.Counts.Destroy == 0
			}
		}
		return false
	})
	w.Close(t, n)
}
