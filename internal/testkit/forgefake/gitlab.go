// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// GitLab is a project in a group's subgroup at GitLab.
func GitLab(t testing.TB) *World {
	return newWorld(t, forge.GitLab, "acme/platform/infra", gitLab, func(out http.ResponseWriter, scope bool) {
		if scope {
			http.Error(out, `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"api"}`, http.StatusForbidden)
			return
		}
		http.Error(out, `{"message":"401 Unauthorized"}`, http.StatusUnauthorized)
	})
}

func member(name string) object {
	return object{"username": name, "id": users[name], "state": "active"}
}

func gitLab(w *World, r *request) (int, any) {
	r.out.Set("RateLimit-Limit", "2000")
	r.out.Set("RateLimit-Remaining", "1999")
	rest, ok := strings.CutPrefix(r.path, "/api/v4/projects/"+url.PathEscape(w.name))
	switch {
	case r.path == "/api/v4/user":
		return http.StatusOK, member(Self)
	case r.path == "/api/v4/users":
		if id := users[r.URL.Query().Get("username")]; id != 0 {
			return http.StatusOK, []object{member(r.URL.Query().Get("username"))}
		}
		return http.StatusOK, []object{}
	case r.path == "/api/v4/projects/1234":
		return http.StatusOK, object{"id": 1234, "path_with_namespace": forgetest.Bob + "/infra"}
	case !ok:
		return 0, nil
	}
	r.path = rest
	switch {
	case r.is("GET", ""):
		return http.StatusOK, object{"id": 77, "path_with_namespace": w.name, "default_branch": "main", "visibility": "private",
			"web_url": w.URL + "/" + w.name, "http_url_to_repo": w.URL + "/" + w.name + ".git"}
	case r.is("GET", "/merge_requests"):
		after := sinceTime(r, "updated_after")
		list := slices.DeleteFunc(w.open(), func(p *pull) bool { return !p.updated.After(after) })
		return linked(w, r, list, size, func(p *pull) object {
			out := w.merge(p)
			delete(out, "diff_refs") // only one merge request has them
			return out
		})
	case r.is("GET", "/members/all/*"):
		level := map[int]int{users[Self]: 40, users[forgetest.Alice]: 30, users[forgetest.Bob]: 20}[r.number(0)]
		if level == 0 {
			return notFound()
		}
		return http.StatusOK, object{"id": r.number(0), "access_level": level, "state": "active"}
	case r.is("GET", "/repository/files/*/raw"):
		path, _ := url.PathUnescape(r.args[0]) //nolint:errcheck // not found
		return w.file(path, r.URL.Query().Get("ref"))
	case r.is("GET", "/repository/commits/*/statuses"), r.is("POST", "/statuses/*"):
		return w.gitLabStatus(r)
	case strings.HasPrefix(r.path, "/merge_requests/"):
		number, _ := strconv.Atoi(strings.Split(r.path, "/")[2]) //nolint:errcheck // not found
		if p := w.pull(number); p != nil {
			return w.gitLabOne(r, p)
		}
		return notFound()
	}
	return 0, nil
}

func (w *World) merge(p *pull) object {
	out := object{"iid": p.number, "title": p.spec.Title, "web_url": w.URL + "/" + w.name + "/-/merge_requests/" + strconv.Itoa(p.number),
		"state": map[forge.State]string{forge.Open: "opened", forge.Closed: "closed", forge.Merged: "merged"}[p.state],
		"draft": p.spec.Draft, "has_conflicts": false, "author": member(p.spec.Author), "source_branch": p.spec.Branch, "target_branch": "main",
		"source_project_id": 77, "target_project_id": 77, "sha": p.head, "labels": p.spec.Labels, "updated_at": p.updated,
		"changes_count": strconv.Itoa(len(p.files)), "diff_refs": object{"start_sha": strings.Repeat("b", 40)}, "merge_commit_sha": nil}
	if p.spec.Fork {
		out["source_project_id"] = 1234
	}
	if p.merge != "" {
		out["merge_commit_sha"] = p.merge
	}
	return out
}

func (w *World) gitLabOne(r *request, p *pull) (int, any) {
	talk := func(c *comment) object {
		return object{"id": c.id, "body": c.text, "author": member(c.author), "system": false, "created_at": c.created, "updated_at": c.updated}
	}
	switch {
	case r.is("GET", "/merge_requests/*"):
		return http.StatusOK, w.merge(p)
	case r.is("GET", "/merge_requests/*/diffs"):
		return linked(w, r, p.files, files, func(f forge.File) object {
			old := f.Path
			if f.Before != "" {
				old = f.Before
			}
			return object{"old_path": old, "new_path": f.Path, "new_file": f.Action == forge.Added, "renamed_file": f.Action == forge.Renamed, "deleted_file": f.Action == forge.Removed}
		})
	case r.is("GET", "/merge_requests/*/approvals"):
		return http.StatusOK, object{"approved_by": shown(p.present(), func(v review) object { return object{"user": member(v.who), "approved_at": v.at} })}
	case r.is("GET", "/merge_requests/*/versions"):
		list := slices.Clone(p.versions)
		slices.Reverse(list)
		return linked(w, r, list, size, func(v version) object { return object{"head_commit_sha": v.commit, "created_at": v.at} })
	case r.is("GET", "/merge_requests/*/notes"):
		list := slices.Clone(p.comments)
		if r.URL.Query().Get("order_by") != "updated_at" || r.URL.Query().Get("sort") != "desc" {
			return http.StatusBadRequest, object{"error": "this fake lists the last updated notes first"}
		}
		slices.SortFunc(list, func(a, b *comment) int { return b.updated.Compare(a.updated) })
		return linked(w, r, list, size, talk)
	case r.is("POST", "/merge_requests/*/notes"):
		return http.StatusCreated, talk(w.say(p, Self, r.text("body")))
	case r.is("PUT", "/merge_requests/*/notes/*"):
		_, c := w.comment(r.number(1))
		if c == nil {
			return notFound()
		}
		c.text, c.updated = r.text("body"), w.now()
		return http.StatusOK, talk(c)
	case r.is("GET", "/merge_requests/*/notes/*/award_emoji"), r.is("POST", "/merge_requests/*/notes/*/award_emoji"):
		return w.gitLabAward(r)
	}
	return 0, nil
}

func (w *World) gitLabAward(r *request) (int, any) {
	_, c := w.comment(r.number(1))
	switch {
	case c == nil:
		return notFound()
	case r.Method == http.MethodGet:
		return linked(w, r, c.reactions, size, func(name string) object { return object{"name": name, "user": member(Self)} })
	case slices.Contains(c.reactions, r.text("name")):
		return http.StatusNotFound, object{"message": "404 Award Emoji Name has already been taken Not Found"}
	}
	c.reactions = append(c.reactions, r.text("name"))
	return http.StatusCreated, object{"name": r.text("name")}
}

func (w *World) gitLabStatus(r *request) (int, any) {
	show := func(s *status) object {
		return object{"id": s.id, "name": s.Name, "status": s.state, "description": s.Description, "target_url": s.URL}
	}
	commit := r.args[0]
	if r.Method == http.MethodGet {
		return linked(w, r, w.statuses[commit], size, show)
	}
	made := &status{Status: forge.Status{Name: r.text("name"), Description: r.text("description"), URL: r.text("target_url")}, id: w.id(), state: r.text("state")}
	for i, s := range w.statuses[commit] {
		if s.Name != made.Name {
			continue
		}
		if s.state == "pending" && made.state == "pending" {
			return http.StatusBadRequest, object{"message": "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"}
		}
		if s.state == "pending" {
			w.statuses[commit][i] = made // it is the same status, and the other ones are retried
			return http.StatusCreated, show(made)
		}
	}
	w.statuses[commit] = append([]*status{made}, w.statuses[commit]...)
	return http.StatusCreated, show(made)
}
