// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const secret = "s3cret-of-the-hook"

func mac(body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

// headers are those that a forge sends.
func headers(kind forge.Kind, event, body string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	switch kind {
	case forge.GitHub:
		h.Set("X-GitHub-Event", event)
		h.Set("X-GitHub-Delivery", "d1")
		h.Set("X-Hub-Signature-256", "sha256="+mac(body))
	case forge.Gitea:
		h.Set("X-Gitea-Event", event)
		h.Set("X-Gitea-Delivery", "d1")
		h.Set("X-Gitea-Signature", mac(body))
	case forge.GitLab:
		h.Set("X-Gitlab-Event", event)
		h.Set("Idempotency-Key", "d1")
		h.Set("X-Gitlab-Token", secret)
	case forge.Bitbucket:
		h.Set("X-Event-Key", event)
		h.Set("X-Request-UUID", "d1")
		h.Set("X-Hub-Signature", "sha256="+mac(body))
	case forge.BitbucketServer:
		h.Set("X-Event-Key", event)
		h.Set("X-Request-Id", "d1")
		h.Set("X-Hub-Signature", "sha256="+mac(body))
	case forge.AzureDevOps:
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("yuba:"+secret)))
	}
	return h
}

const commitID = "1111111111111111111111111111111111111111"

var repository = `"repository":{"id":77,"full_name":"acme/infra"},"sender":{"id":2,"login":"alice"}`

var samples = map[string]struct {
	kind        forge.Kind
	event, body string
	want        Event
}{
	"GitHub: a push":                 {forge.GitHub, "push", `{"ref":"refs/heads/main","after":"` + commitID + `",` + repository + `}`, Event{Kind: Push, Branch: "main", Commit: commitID}},
	"GitHub: a deleted branch":       {forge.GitHub, "push", `{"ref":"refs/heads/a/b","after":"` + strings.Repeat("0", 40) + `",` + repository + `}`, Event{Kind: Push, Branch: "a/b"}},
	"GitHub: a tag":                  {forge.GitHub, "push", `{"ref":"refs/tags/v1","after":"` + commitID + `",` + repository + `}`, Event{}},
	"GitHub: a ping":                 {forge.GitHub, "ping", `{"zen":"Design for failure.",` + repository + `}`, Event{}},
	"GitHub: an event of the future": {forge.GitHub, "quantum", `{` + repository + `}`, Event{}},
	"GitHub: opened":                 {forge.GitHub, "pull_request", `{"action":"opened","number":5,"pull_request":{"number":5},` + repository + `}`, Event{Kind: PullRequest, Number: 5}},
	"GitHub: a comment": {forge.GitHub, "issue_comment", `{"action":"created","issue":{"number":5,"pull_request":{"url":"x"}},"comment":{"id":9,"body":"/yuba plan"},` + repository + `}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba plan"}},
	"GitHub: a comment on an issue":   {forge.GitHub, "issue_comment", `{"action":"created","issue":{"number":5},"comment":{"id":9,"body":"/yuba plan"},` + repository + `}`, Event{}},
	"GitHub: a deleted comment":       {forge.GitHub, "issue_comment", `{"action":"deleted","issue":{"number":5,"pull_request":{}},"comment":{"id":9},` + repository + `}`, Event{}},
	"GitHub: a review":                {forge.GitHub, "pull_request_review", `{"action":"submitted","review":{"state":"approved"},"pull_request":{"number":5},` + repository + `}`, Event{Kind: Review, Number: 5}},
	"Gitea: a push to a pull request": {forge.Gitea, "pull_request_sync", `{"action":"synchronized","number":5,"pull_request":{"number":5},` + repository + `}`, Event{Kind: PullRequest, Number: 5}},
	"Gitea: a comment": {forge.Gitea, "issue_comment", `{"action":"created","is_pull":true,"issue":{"number":5},"comment":{"id":9,"body":"/yuba help"},` + repository + `}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba help"}},
	"Gitea: an approval":            {forge.Gitea, "pull_request_approved", `{"action":"reviewed","number":5,"pull_request":{"number":5},"review":{"type":"pull_request_review_approved"},` + repository + `}`, Event{Kind: Review, Number: 5}},
	"Gitea: a review that comments": {forge.Gitea, "pull_request_comment", `{"action":"reviewed","number":5,"pull_request":{"number":5},"review":{"type":"pull_request_review_comment","content":"x"},` + repository + `}`, Event{Kind: Review, Number: 5}},
	"GitLab: a push": {forge.GitLab, "Push Hook", `{"ref":"refs/heads/main","after":"` + commitID + `","user_id":2,"user_username":"alice","project":{"id":77,"path_with_namespace":"acme/infra"}}`,
		Event{Kind: Push, Branch: "main", Commit: commitID}},
	"GitLab: an update":   {forge.GitLab, "Merge Request Hook", `{"user":{"id":2,"username":"alice"},"project":{"id":77,"path_with_namespace":"acme/infra"},"object_attributes":{"iid":5,"action":"update"}}`, Event{Kind: PullRequest, Number: 5}},
	"GitLab: an approval": {forge.GitLab, "Merge Request Hook", `{"user":{"id":2,"username":"alice"},"project":{"id":77,"path_with_namespace":"acme/infra"},"object_attributes":{"iid":5,"action":"approved"}}`, Event{Kind: Review, Number: 5}},
	"GitLab: a note": {forge.GitLab, "Note Hook", `{"user":{"id":2,"username":"alice"},"project":{"id":77,"path_with_namespace":"acme/infra"},"object_attributes":{"id":9,"note":"/yuba plan","noteable_type":"MergeRequest"},"merge_request":{"iid":5}}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba plan"}},
	"GitLab: a note on an issue": {forge.GitLab, "Note Hook", `{"object_attributes":{"id":9,"noteable_type":"Issue"}}`, Event{}},
	"GitLab: a pipeline":         {forge.GitLab, "Pipeline Hook", `{}`, Event{}},
	"Bitbucket: a push": {forge.Bitbucket, "repo:push", `{"repository":{"uuid":"77","full_name":"acme/infra"},"actor":{"uuid":"2","nickname":"alice"},"push":{"changes":[{"new":{"type":"tag","name":"v1"}},{"new":{"type":"branch","name":"main","target":{"hash":"` + commitID + `"}}}]}}`,
		Event{Kind: Push, Branch: "main", Commit: commitID}},
	"Bitbucket: a comment": {forge.Bitbucket, "pullrequest:comment_created", `{"repository":{"uuid":"77","full_name":"acme/infra"},"actor":{"uuid":"2","nickname":"alice"},"pullrequest":{"id":5},"comment":{"id":9,"content":{"raw":"/yuba plan"}}}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba plan"}},
	"Bitbucket: an approval": {forge.Bitbucket, "pullrequest:approved", `{"repository":{"uuid":"77","full_name":"acme/infra"},"actor":{"uuid":"2","nickname":"alice"},"pullrequest":{"id":5}}`, Event{Kind: Review, Number: 5}},
	"Bitbucket: merged":      {forge.Bitbucket, "pullrequest:fulfilled", `{"repository":{"uuid":"77","full_name":"acme/infra"},"actor":{"uuid":"2","nickname":"alice"},"pullrequest":{"id":5}}`, Event{Kind: PullRequest, Number: 5}},
	"Bitbucket Data Center: a push": {forge.BitbucketServer, "repo:refs_changed", `{"actor":{"id":2,"name":"alice"},"repository":{"id":77,"slug":"infra","project":{"key":"acme"}},"changes":[{"refId":"refs/heads/main","toHash":"` + commitID + `","type":"UPDATE"}]}`,
		Event{Kind: Push, Branch: "main", Commit: commitID}},
	"Bitbucket Data Center: a comment": {forge.BitbucketServer, "pr:comment:added", `{"actor":{"id":2,"name":"alice"},"pullRequest":{"id":5,"toRef":{"repository":{"id":77,"slug":"infra","project":{"key":"acme"}}}},"comment":{"id":9,"text":"/yuba plan"}}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba plan"}},
	"Bitbucket Data Center: an approval": {forge.BitbucketServer, "pr:reviewer:approved", `{"actor":{"id":2,"name":"alice"},"pullRequest":{"id":5,"toRef":{"repository":{"id":77,"slug":"infra","project":{"key":"acme"}}}}}`, Event{Kind: Review, Number: 5}},
	"Azure DevOps: created":              {forge.AzureDevOps, "", `{"id":"d1","eventType":"git.pullrequest.created","resource":{"pullRequestId":5,"repository":{"id":"77","name":"infra","project":{"name":"acme"}}}}`, Event{Kind: PullRequest, Number: 5}},
	"Azure DevOps: a comment": {forge.AzureDevOps, "", `{"id":"d1","eventType":"ms.vss-code.git-pullrequest-comment-event","resource":{"comment":{"id":9,"content":"/yuba plan"},"pullRequest":{"pullRequestId":5,"repository":{"id":"77","name":"infra","project":{"name":"acme"}}}}}`,
		Event{Kind: Comment, Number: 5, CommentID: "9", Text: "/yuba plan"}},
	"Azure DevOps: a push": {forge.AzureDevOps, "", `{"id":"d1","eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main","newObjectId":"` + commitID + `"}],"repository":{"id":"77","name":"infra","project":{"name":"acme"}}}}`,
		Event{Kind: Push, Branch: "main", Commit: commitID}},
}

func TestEvents(t *testing.T) {
	for name, s := range samples {
		got, err := Parse(s.kind, secret, headers(s.kind, s.event, s.body), []byte(s.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := s.want
		want.Delivery = "d1"
		if want.Kind != Ignored {
			want.Repository, want.RepositoryID, want.Sender = "acme/infra", "77", forge.User{ID: "2", Name: "alice"}
		}
		if s.kind == forge.AzureDevOps {
			want.Sender = forge.User{}
		}
		if want.Kind == Ignored {
			got.Delivery = want.Delivery
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestForgedHooks(t *testing.T) {
	for name, s := range samples {
		right := headers(s.kind, s.event, s.body)
		for what, forged := range map[string]func() (forge.Secret, http.Header, string){
			"another secret": func() (forge.Secret, http.Header, string) { return "other", right, s.body },
			"no secret":      func() (forge.Secret, http.Header, string) { return "", right, s.body },
			"no signature": func() (forge.Secret, http.Header, string) {
				h := right.Clone()
				for _, name := range []string{"X-Hub-Signature-256", "X-Gitea-Signature", "X-Gitlab-Token", "X-Hub-Signature", "Authorization"} {
					h.Del(name)
				}
				return secret, h, s.body
			},
		} {
			key, h, body := forged()
			_, err := Parse(s.kind, key, h, []byte(body))
			var bad *ForgedError
			if !errors.As(err, &bad) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s with %s: %v", name, what, err)
			}
		}
		// GitLab and Azure DevOps do not sign the body.
		if s.kind != forge.GitLab && s.kind != forge.AzureDevOps {
			if _, err := Parse(s.kind, secret, right, []byte(s.body+" ")); err == nil {
				t.Errorf("%s: a changed body is accepted", name)
			}
		}
	}
}

func TestForms(t *testing.T) {
	s := samples["GitHub: opened"]
	form := url.Values{"payload": {s.body}}.Encode()
	h := headers(s.kind, s.event, form)
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	if e, err := Parse(s.kind, secret, h, []byte(form)); err != nil || e.Number != 5 {
		t.Error(e, err)
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "<html>", "a list": "[]", "half": `{"number":`, "no number": `{` + repository + `}`, "no repository": `{"number":5,"pull_request":{"number":5}}`,
		"a number that is a text": `{"number":"5",` + repository + `}`,
	} {
		_, err := Parse(forge.GitHub, secret, headers(forge.GitHub, "pull_request", body), []byte(body))
		var invalid *InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := strings.Repeat(" ", MaxBody+1)
	r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(large))
	if _, err := Read(httptest.NewRecorder(), r); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestTheWindow(t *testing.T) {
	var w Window
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := Event{Repository: "acme/infra", Delivery: "d1"}
	for i, step := range []struct {
		e    Event
		body string
		at   time.Duration
		want bool
	}{
		{e, "a", 0, true},
		{e, "a", time.Second, false},
		{e, "b", time.Second, false}, // the same delivery
		{Event{Repository: "acme/infra", Delivery: "d2"}, "a", time.Second, false}, // replayed under another id
		{Event{Repository: "acme/infra", Delivery: "d2"}, "b", time.Second, true},  //
		{Event{Repository: "acme/other", Delivery: "d1"}, "a", time.Second, true},  // another repository's
		{Event{Repository: "acme/infra"}, "c", time.Second, true},                  // without an id
		{Event{Repository: "acme/infra"}, "c", time.Second, false},                 //
		{e, "a", remember, true}, // forgotten
		{Event{Repository: "acme/infra"}, "c", remember + 500*time.Millisecond, false}, //
	} {
		if got := w.New("a", step.e, []byte(step.body), now.Add(step.at)); got != step.want {
			t.Errorf("step %d: new %t, want %t", i, got, step.want)
		}
	}
	if !w.New("b", e, []byte("a"), now.Add(remember+time.Second)) {
		t.Error("another receiver's is taken for a replay")
	}
	w.Forget("a", e, []byte("a"))
	if !w.New("a", e, []byte("a"), now.Add(remember+2*time.Second)) {
		t.Error("a forgotten hook is not new")
	}
	for i := range most + 100 {
		w.New("a", Event{Delivery: fmt.Sprint(i)}, fmt.Append(nil, i), now)
	}
	if w.order.Len() > most || len(w.known) > 2*most {
		t.Errorf("%d hooks are remembered", w.order.Len())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add(string(s.kind), s.event, s.body)
	}
	f.Fuzz(func(t *testing.T, kind, event, body string) {
		e, err := Parse(forge.Kind(kind), secret, headers(forge.Kind(kind), event, body), []byte(body))
		if err == nil && e.Kind != Ignored && (e.Repository == "" || e.Kind != Push && e.Number <= 0) {
			t.Errorf("%+v", e)
		}
	})
}
