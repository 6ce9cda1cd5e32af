// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/giteatest"
)

func TestGitea(t *testing.T) {
	server := giteatest.Start(t)
	t.Run("conformance", func(t *testing.T) {
		forgetest.Run(t, func(t testing.TB) forgetest.World { return server.World(t, dial.Open) }, forgetest.Traits{Scope: "write:repository"})
	})
	t.Run("webhooks", func(t *testing.T) { webhooks(t, server.World(t, dial.Open)) })
	t.Run("comments are shown harmlessly", func(t *testing.T) { shown(t, server.World(t, dial.Open)) })
}

const secret = "secret-of-the-hook"

func webhooks(t *testing.T, w *giteatest.World) {
	events := make(chan hook.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := hook.Read(out, r)
		if err != nil {
			t.Error(err)
			return
		}
		e, err := hook.Parse(forge.Gitea, secret, r.Header, body)
		if err != nil {
			t.Errorf("%v: %.300s", err, body)
		}
		if _, err := hook.Parse(forge.Gitea, "other", r.Header, body); err == nil {
			t.Error("another secret fits")
		}
		events <- e
	}))
	defer receiver.Close()
	w.Hook(t, receiver.URL, secret)
	// expect waits for an event; others, such as further ones of the same change, may come before.
	expect := func(what string, is func(e hook.Event) bool) {
		t.Helper()
		deadline := time.After(30 * time.Second)
		for {
			select {
			case e := <-events:
				if e.Kind != hook.Ignored && (e.Repository != w.Name() || e.RepositoryID == "" || e.Delivery == "") {
					t.Errorf("%s: the event is %+v", what, e)
				}
				if is(e) {
					return
				}
			case <-deadline:
				t.Fatalf("no event of %s", what)
			}
		}
	}
	n := w.Create(t, forgetest.Simple("hooked"))
	expect("a push", func(e hook.Event) bool {
		return e.Kind == hook.Push && e.Branch == "hooked" && len(e.Commit) == 40 && e.Sender.Name == forgetest.Alice
	})
	expect("a new pull request", func(e hook.Event) bool { return e.Kind == hook.PullRequest && e.Number == n })
	commit := w.Push(t, n, map[string]string{"main.tf": "# again\n"})
	expect("a push to it", func(e hook.Event) bool { return e.Kind == hook.Push && e.Commit == commit })
	expect("its synchronization", func(e hook.Event) bool { return e.Kind == hook.PullRequest && e.Number == n })
	id := w.Say(t, n, forgetest.Alice, "/yuba plan")
	expect("a comment", func(e hook.Event) bool {
		return e.Kind == hook.Comment && e.Number == n && e.CommentID == id && e.Text == "/yuba plan" && e.Sender.Name == forgetest.Alice
	})
	w.Review(t, n, forgetest.Bob, forge.Approved)
	expect("an approval", func(e hook.Event) bool {
		return e.Kind == hook.Review && e.Number == n && e.Sender.Name == forgetest.Bob
	})
	w.Merge(t, n)
	expect("the merge", func(e hook.Event) bool { return e.Kind == hook.PullRequest && e.Number == n })
}

func shown(t *testing.T, w *giteatest.World) {
	r := comment.Report{Marker: "yuba:5", Commit: "@bob", Link: "https://yuba.example.com/pr/5", Stacks: []comment.Stack{{
		Name: "prod/@alice <img src=x onerror=alert(1)>", State: comment.Failed, Counts: comment.Counts{Destroy: 1}, Changes: "  ~ a\n```\n@bob #1 <script>\n```\n",
		Problems: []comment.Problem{{Summary: "`@bob` [evil](https://evil.example.com) !1 #1", Detail: "</details>\n````\n@alice https://evil.example.com", Path: "main.tf", Line: 3}},
		Verdicts: []comment.Verdict{{Policy: "p@alice", Message: "**bold** @bob | x", Refuses: true}}}}}
	f := w.Open(t, w.Config(t, forgetest.Full))
	limits := f.Limits()
	for _, style := range []comment.Style{{Limit: limits.Comment, Details: true, Hidden: true}, {Limit: limits.Comment}} {
		html := w.HTML(t, comment.Render(r, style))
		for _, bad := range []string{"mention", "<img", "<script", "evil.example.com\"", "<strong>bold", "ref-issue", "yuba:5"} {
			if strings.Contains(html, bad) {
				t.Errorf("the comment contains %q: %s", bad, html)
			}
		}
		if style.Details && (strings.Count(html, "<details") != 1 || !strings.Contains(html, "<table")) {
			t.Errorf("it is not drawn: %s", html)
		}
	}
}
