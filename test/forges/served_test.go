// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// served is a forge whose API a test serves, with a real repository.
type served struct {
	*forgefake.World
	y    *yuba
	ns   string
	kind forge.Kind
	repo *gittest.Repository
	f    forge.Forge
}

const servedSource = `
apiVersion: v1
kind: Secret
metadata: {name: forge, namespace: %[1]s}
stringData: {token: %[3]s, username: yuba-bot}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: infra, namespace: %[1]s}
spec: {interval: 1h, url: %[2]s, ref: {branch: main}}
`

const servedPlanner = `
apiVersion: yuba.dev/v1alpha1
kind: PullRequestPlanner
metadata: {name: prs, namespace: %[1]s}
spec:
  interval: 2s
  forge: {type: %[2]s, address: %[3]q, secretRef: {name: forge}}
`

// TestServedForges: what a planner says about the mistakes of tokens, and about forges that fail, for each forge.
func TestServedForges(t *testing.T) {
	y := start(t)
	for _, c := range []struct {
		name  string
		kind  forge.Kind
		world func(testing.TB) *forgefake.World
		// path is that of the repository for git, scope what the condition must name.
		path, scope string
	}{
		{"github", forge.GitHub, forgefake.GitHub, "acme/infra", "repo or repo:status"},
		{"gitlab", forge.GitLab, forgefake.GitLab, "acme/platform/infra", "api"},
		{"bitbucket", forge.Bitbucket, forgefake.Bitbucket, "acme/infra", "repository:write"},
		{"bitbucketserver", forge.BitbucketServer, forgefake.BitbucketServer, "scm/ACME/infra", "REPO_WRITE"},
		{"azuredevops", forge.AzureDevOps, forgefake.Azure, "acme/_git/infra", "PullRequestContribute"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &served{World: c.world(t), y: y, ns: c.name, kind: c.kind, repo: gittest.New(t).Repository(t, c.path)}
			f, err := dial.Open(s.Config(t, forgetest.Full))
			if err != nil {
				t.Fatal(err)
			}
			s.f = f
			s.mistakes(t, c.scope)
		})
	}
}

func (s *served) token(t *testing.T, token forgetest.Token) {
	t.Helper()
	s.y.apply(t, fmt.Sprintf(servedSource, s.ns, s.repo.URL(), string(s.Config(t, token).Credentials.Token)))
}

// propose makes a pull request with a real commit.
func (s *served) propose(t *testing.T) (n int, head string) {
	t.Helper()
	files := gittest.Files{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 2 }\n"}
	s.repo.Git(t, "checkout", "--quiet", "-b", "change")
	head = s.repo.Commit(t, "Change", files)
	s.Commits(func() string { return head })
	n = s.Create(t, forgetest.Pull{Branch: "change", Title: "Change", Author: forgetest.Alice, Write: files})
	s.Commits(nil)
	p, err := s.f.PullRequest(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	s.repo.Git(t, "push", "--quiet", "--force", "origin", "HEAD:"+cmp.Or(p.Ref, "refs/heads/change"))
	return n, head
}

// ready is the condition Ready of the planner.
func (s *served) ready(t *testing.T) (status, reason, message string) {
	t.Helper()
	for _, c := range s.y.planner(t, s.ns).Status.Conditions {
		if c.Type == "Ready" {
			status, reason, message = string(c.Status), c.Reason, c.Message
		}
	}
	return status, reason, message
}

// until waits for a condition with a reason and a text.
func (s *served) until(t *testing.T, status, reason string, texts ...string) {
	t.Helper()
	var got [3]string
	w := &world{y: s.y, ns: s.ns}
	w.eventually(t, fmt.Sprintf("Ready is %s %s %q", status, reason, texts), func() bool {
		got[0], got[1], got[2] = s.ready(t)
		fits := got[0] == status && (reason == "" || got[1] == reason)
		for _, text := range texts {
			fits = fits && strings.Contains(got[2], text)
		}
		return fits
	})
	if strings.Contains(got[2], "token-") {
		t.Errorf("the message has a token: %s", got[2])
	}
}

func (s *served) mistakes(t *testing.T, scope string) {
	s.repo.Commit(t, "Begin", gittest.Files{"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 1 }\n"})
	s.y.run(t, "", "kubectl", "create", "namespace", s.ns)
	s.token(t, forgetest.ReadOnly)
	s.y.apply(t, fmt.Sprintf(stackOf, s.ns, "c", "auto"))
	s.y.run(t, "", "kubectl", "wait", "-n", s.ns, "--for=condition=Ready", "--timeout=2m", "terraform/c")
	n, head := s.propose(t)
	s.y.apply(t, fmt.Sprintf(servedPlanner, s.ns, s.kind, s.Config(t, forgetest.Full).API))

	address, err := url.Parse(s.repo.URL())
	if err != nil {
		t.Fatal(err)
	}
	s.until(t, "False", yubav1.ReasonCredentials, scope, "at "+address.Host)
	s.token(t, forgetest.Wrong)
	s.until(t, "False", yubav1.ReasonCredentials, "token")
	s.token(t, forgetest.Full)
	s.until(t, "True", "")
	w := &world{y: s.y, ns: s.ns}
	p := w.until(t, n, head, yubav1.PullRequestPlanned)
	if got := names(p); got != "c Planned" {
		t.Errorf("planned are %s", got)
	}

	s.Fault(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusBadGateway) })
	s.until(t, "False", yubav1.ReasonForgeFailed, "502")
	if got := s.y.pull(t, s.ns, n); got.Head != head || got.State != yubav1.PullRequestPlanned {
		t.Errorf("while the forge is down, it shows %+v", got)
	}
	s.Fault(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Retry-After", strconv.Itoa(4))
		out.WriteHeader(http.StatusTooManyRequests)
	})
	s.until(t, "False", yubav1.ReasonForgeFailed, "limits requests until")
	s.Fault(nil)
	s.until(t, "True", "")
	comments, err := s.f.Comments(t.Context(), n, zero)
	if err != nil || len(comments) != 1 || !strings.Contains(comments[0].Text, "1 to change") {
		t.Errorf("the comments are %+v: %v", comments, err)
	}
}
