// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// GitHub is a repository at a GitHub Enterprise Server.
func GitHub(t testing.TB) *World {
	return newWorld(t, forge.GitHub, "acme/infra", gitHub, func(out http.ResponseWriter, scope bool) {
		if scope {
			out.Header().Set("X-OAuth-Scopes", "read:org, public_repo")
			out.Header().Set("X-Accepted-OAuth-Scopes", "repo, repo:status")
			http.Error(out, `{"message":"Not Found","documentation_url":"https://docs.github.com/rest"}`, http.StatusNotFound)
			return
		}
		http.Error(out, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
	})
}

func account(name string) object { return object{"login": name, "id": users[name], "type": "User"} }

func gitHub(w *World, r *request) (int, any) {
	if r.path == "/api/v3/user" {
		return http.StatusOK, account(Self)
	}
	rest, ok := strings.CutPrefix(r.path, "/api/v3/repos/"+w.name)
	if !ok {
		return 0, nil
	}
	r.path = rest
	r.out.Set("X-RateLimit-Limit", "5000")
	r.out.Set("X-RateLimit-Remaining", "4987")
	r.out.Set("X-RateLimit-Reset", strconv.FormatInt(w.clock.Add(2*time.Hour).Unix(), 10))
	switch {
	case r.is("GET", ""):
		return http.StatusOK, object{"id": 77, "full_name": w.name, "default_branch": "main", "private": true,
			"html_url": w.URL + "/" + w.name, "clone_url": w.URL + "/" + w.name + ".git"}
	case r.is("GET", "/pulls"):
		if r.URL.Query().Get("sort") != "updated" || r.URL.Query().Get("direction") != "desc" || r.URL.Query().Get("state") != "open" {
			return http.StatusUnprocessableEntity, object{"message": "this fake lists open ones, the last updated first"}
		}
		return linked(w, r, w.open(), size, func(p *pull) object { return w.gitHubPull(p) })
	case r.is("GET", "/collaborators/*/permission"):
		return http.StatusOK, object{"permission": map[string]string{Self: "admin", forgetest.Alice: "write", forgetest.Bob: "read"}[r.args[0]], "role_name": "x"}
	case strings.HasPrefix(r.path, "/contents/"):
		return w.gitHubFile(r)
	case strings.HasPrefix(r.path, "/commits/") || strings.HasPrefix(r.path, "/statuses/") || strings.HasPrefix(r.path, "/check-runs"):
		return w.gitHubStatus(r)
	case strings.HasPrefix(r.path, "/issues/comments/"):
		return w.gitHubComment(r)
	case r.is("GET", "/pulls/*"), r.is("GET", "/pulls/*/files"), r.is("GET", "/pulls/*/reviews"), r.is("GET", "/issues/*/comments"), r.is("POST", "/issues/*/comments"):
		p := w.pull(r.number(0))
		if p == nil {
			return notFound()
		}
		return w.gitHubOne(r, p)
	}
	return 0, nil
}

func (w *World) gitHubOne(r *request, p *pull) (int, any) {
	switch {
	case r.is("GET", "/pulls/*"):
		return http.StatusOK, w.gitHubPull(p)
	case r.is("GET", "/pulls/*/files"):
		return linked(w, r, p.files, files, func(f forge.File) object {
			return object{"filename": f.Path, "previous_filename": f.Before, "status": f.Action, "patch": strings.Repeat("+", 1000)}
		})
	case r.is("GET", "/pulls/*/reviews"):
		return linked(w, r, p.reviews, size, func(v review) object {
			state := map[forge.Verdict]string{forge.Approved: "APPROVED", forge.Rejected: "CHANGES_REQUESTED"}[v.verdict]
			return object{"user": account(v.who), "state": state, "commit_id": v.commit, "submitted_at": v.at}
		})
	case r.is("GET", "/issues/*/comments"):
		since := sinceTime(r, "since")
		list := slices.DeleteFunc(slices.Clone(p.comments), func(c *comment) bool { return c.updated.Before(since) })
		return linked(w, r, list, size, func(c *comment) object { return w.gitHubTalk(c) })
	}
	return http.StatusCreated, w.gitHubTalk(w.say(p, Self, r.text("body")))
}

func (w *World) gitHubTalk(c *comment) object {
	return object{"id": c.id, "body": c.text, "user": account(c.author), "html_url": w.URL + "/c/" + strconv.Itoa(c.id), "created_at": c.created, "updated_at": c.updated}
}

func (w *World) gitHubPull(p *pull) object {
	out := object{"number": p.number, "title": p.spec.Title, "html_url": w.URL + "/" + w.name + "/pull/" + strconv.Itoa(p.number), "state": "open",
		"draft": p.spec.Draft, "user": account(p.spec.Author), "updated_at": p.updated, "mergeable": true, "mergeable_state": "clean",
		"merge_commit_sha": strings.Repeat("e", 40),
		"head":             object{"ref": p.spec.Branch, "sha": p.head, "repo": object{"id": 77 + len(w.source(p)) - len(w.name), "full_name": w.source(p)}},
		"base":             object{"ref": "main", "sha": strings.Repeat("b", 40), "repo": object{"id": 77, "full_name": w.name}}}
	if p.spec.Fork {
		out["head"].(object)["repo"].(object)["id"] = 1234 //nolint:forcetypeassert // see above
	}
	labels := []object{}
	for _, l := range p.spec.Labels {
		labels = append(labels, object{"name": l})
	}
	out["labels"] = labels
	if p.state != forge.Open {
		out["state"] = "closed"
	}
	if p.state == forge.Merged {
		out["merged"], out["merged_at"], out["merge_commit_sha"] = true, p.updated, p.merge
	}
	return out
}

func (w *World) gitHubFile(r *request) (int, any) {
	if !strings.Contains(r.Header.Get("Accept"), "raw") {
		return 0, nil
	}
	return w.file(strings.TrimPrefix(r.path, "/contents/"), r.URL.Query().Get("ref"))
}

// file is the content of a file at a commit.
func (w *World) file(path, ref string) (int, any) {
	for _, p := range w.pulls {
		if text, ok := p.content[path]; ok && p.head == ref {
			return http.StatusOK, raw(text)
		}
	}
	return notFound()
}

func (w *World) gitHubComment(r *request) (int, any) {
	switch {
	case r.is("PATCH", "/issues/comments/*"):
		_, c := w.comment(r.number(0))
		if c == nil {
			return notFound()
		}
		c.text, c.updated = r.text("body"), w.now()
		return http.StatusOK, w.gitHubTalk(c)
	case r.is("POST", "/issues/comments/*/reactions"):
		if !slices.Contains([]string{"eyes", "+1", "-1"}, r.text("content")) {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed"}
		}
		return http.StatusOK, object{"id": 1}
	}
	return 0, nil
}

func (w *World) gitHubStatus(r *request) (int, any) {
	show := func(s *status) object {
		return object{"id": s.id, "context": s.Name, "state": s.state, "description": s.Description, "target_url": s.URL}
	}
	switch {
	case r.is("GET", "/commits/*/statuses"):
		return linked(w, r, w.statuses[r.args[0]], size, show)
	case r.is("POST", "/statuses/*"):
		if len([]rune(r.text("description"))) > 140 {
			return http.StatusUnprocessableEntity, object{"message": "Validation Failed: description is too long (maximum is 140 characters)"}
		}
		s := &status{Status: forge.Status{Name: r.text("context"), Description: r.text("description"), URL: r.text("target_url")}, id: w.id(), state: r.text("state")}
		w.statuses[r.args[0]] = append([]*status{s}, w.statuses[r.args[0]]...)
		return http.StatusCreated, show(s)
	}
	return w.gitHubCheck(r)
}
