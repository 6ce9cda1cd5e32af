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

// Bitbucket is a repository at Bitbucket Cloud.
func Bitbucket(t testing.TB) *World {
	return newWorld(t, forge.Bitbucket, "acme/infra", bitbucket, func(out http.ResponseWriter, scope bool) {
		if scope {
			http.Error(out, `{"type":"error","error":{"message":"Your credentials lack one or more required privilege scopes.","detail":{"granted":["pullrequest"],"required":["repository:write"]}}}`, http.StatusForbidden)
			return
		}
		http.Error(out, `{"type":"error","error":{"message":"Token is invalid, expired, or not supported for this endpoint."}}`, http.StatusUnauthorized)
	})
}

func atlassian(name string) object {
	return object{"uuid": "{" + strconv.Itoa(users[name]) + "}", "nickname": name, "type": "user"}
}

// values is a page of a list that names the next one.
func values[T, U any](w *World, r *request, list []T, most int, show func(T) U) (int, any) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page")) //nolint:errcheck // the first one
	part, more := page(list, max(number, 1), most)
	out := object{"values": shown(part, show), "pagelen": most}
	if more {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(max(number, 1)+1))
		out["next"] = w.URL + r.URL.EscapedPath() + "?" + query.Encode()
	}
	return http.StatusOK, out
}

func bitbucket(w *World, r *request) (int, any) {
	r.path = strings.TrimPrefix(r.path, "/2.0")
	switch {
	case r.path == "/user":
		return http.StatusOK, atlassian(Self)
	case r.path == "/workspaces/acme/permissions/repositories/infra":
		all := []string{Self, forgetest.Alice, forgetest.Bob}
		who := slices.DeleteFunc(all, func(name string) bool {
			return !strings.Contains(r.URL.Query().Get("q"), `"{`+strconv.Itoa(users[name])+`}"`) && !strings.Contains(r.URL.Query().Get("q"), `"`+name+`"`)
		})
		rights := map[string]string{Self: "admin", forgetest.Alice: "write", forgetest.Bob: "read"}
		return values(w, r, who, size, func(name string) object { return object{"permission": rights[name], "user": atlassian(name)} })
	}
	rest, ok := strings.CutPrefix(r.path, "/repositories/"+w.name)
	if !ok {
		return 0, nil
	}
	r.path = rest
	switch {
	case r.is("GET", ""):
		return http.StatusOK, object{"uuid": "{77}", "full_name": w.name, "is_private": true, "mainbranch": object{"name": "main"},
			"links": object{"html": object{"href": w.URL + "/" + w.name}, "clone": []object{{"name": "https", "href": "https://yuba-bot@bitbucket.org/" + w.name + ".git"}, {"name": "ssh", "href": "git@bitbucket.org:" + w.name + ".git"}}}}
	case r.is("GET", "/pullrequests"):
		if q := r.URL.Query().Get("q"); !strings.HasPrefix(q, `state="OPEN"`) {
			return http.StatusBadRequest, object{"error": object{"message": "this fake lists open ones"}}
		}
		_, since, _ := strings.Cut(r.URL.Query().Get("q"), "updated_on>=")
		list := slices.DeleteFunc(w.open(), func(p *pull) bool { return p.updated.Format("2006-01-02T15:04:05+00:00") < since })
		return values(w, r, list, size, w.cloudPull)
	case r.is("GET", "/commit/*"):
		for _, p := range w.pulls {
			for _, id := range append([]string{p.merge, strings.Repeat("b", 40)}, p.commits()...) {
				if id != "" && strings.HasPrefix(id, r.args[0]) {
					return http.StatusOK, object{"hash": id}
				}
			}
		}
		return notFound()
	case strings.HasPrefix(r.path, "/src/"):
		ref, path, _ := strings.Cut(strings.TrimPrefix(r.path, "/src/"), "/")
		return w.file(path, ref)
	case r.is("GET", "/commit/*/statuses"):
		return values(w, r, w.statuses[r.args[0]], size, buildStatus)
	case r.is("POST", "/commit/*/statuses/build"):
		return w.build(r)
	case strings.HasPrefix(r.path, "/pullrequests/"):
		number, _ := strconv.Atoi(strings.Split(r.path, "/")[2]) //nolint:errcheck // not found
		if p := w.pull(number); p != nil {
			return w.cloudOne(r, p)
		}
		return notFound()
	}
	return 0, nil
}

func (p *pull) commits() []string {
	return shown(p.versions, func(v version) string { return v.commit })
}

func buildStatus(s *status) object {
	return object{"key": s.Name[:strings.Index(s.Name, "\n")], "name": s.Name[strings.Index(s.Name, "\n")+1:], "state": s.state, "description": s.Description, "url": s.URL}
}

// build adds a build status: there is one of each key. Its Name is the key and the name.
func (w *World) build(r *request) (int, any) {
	if r.text("url") == "" || len(r.text("key")) > 40 || r.text("key") == "" {
		return http.StatusBadRequest, object{"error": object{"message": "Bad request", "fields": object{"url": "required"}}}
	}
	s := &status{Status: forge.Status{Name: r.text("key") + "\n" + r.text("name"), Description: r.text("description"), URL: r.text("url")}, state: r.text("state")}
	commit := r.args[0]
	w.statuses[commit] = append([]*status{s}, slices.DeleteFunc(w.statuses[commit], func(o *status) bool {
		return strings.HasPrefix(o.Name, r.text("key")+"\n")
	})...)
	return http.StatusCreated, buildStatus(s)
}

func (w *World) cloudPull(p *pull) object {
	end := func(repository, branch, commit string) object {
		return object{"repository": object{"full_name": repository}, "branch": object{"name": branch}, "commit": object{"hash": commit[:12]}}
	}
	out := object{"id": p.number, "title": p.spec.Title, "draft": p.spec.Draft, "author": atlassian(p.spec.Author), "updated_on": p.updated,
		"state":  map[forge.State]string{forge.Open: "OPEN", forge.Closed: "DECLINED", forge.Merged: "MERGED"}[p.state],
		"source": end(w.source(p), p.spec.Branch, p.head), "destination": end(w.name, "main", strings.Repeat("b", 40)),
		"links": object{"html": object{"href": w.URL + "/" + w.name + "/pull-requests/" + strconv.Itoa(p.number)}}, "merge_commit": nil}
	if p.merge != "" {
		out["merge_commit"] = object{"hash": p.merge[:12]}
	}
	out["participants"] = shown(p.present(), func(v review) object {
		return object{"user": atlassian(v.who), "state": map[forge.Verdict]string{forge.Approved: "approved", forge.Rejected: "changes_requested"}[v.verdict], "participated_on": v.at}
	})
	return out
}

func (w *World) cloudOne(r *request, p *pull) (int, any) {
	talk := func(c *comment) object {
		return object{"id": c.id, "content": object{"raw": c.text}, "user": atlassian(c.author), "created_on": c.created, "updated_on": c.updated, "deleted": false,
			"links": object{"html": object{"href": w.URL + "/c/" + strconv.Itoa(c.id)}}}
	}
	text := func() string {
		content, _ := r.in["content"].(object) //nolint:errcheck // empty
		raw, _ := content["raw"].(string)      //nolint:errcheck // empty
		return raw
	}
	switch {
	case r.is("GET", "/pullrequests/*"):
		return http.StatusOK, w.cloudPull(p)
	case r.is("GET", "/pullrequests/*/diffstat"):
		// The first answer leads to the diff of two commits.
		r.out.Set("Location", w.URL+"/2.0/repositories/"+w.name+"/pullrequests/"+r.args[0]+"/diffstat/"+p.head+"?"+r.URL.RawQuery)
		return http.StatusFound, nil
	case r.is("GET", "/pullrequests/*/diffstat/*"):
		return values(w, r, p.files, files, func(f forge.File) object {
			old, path := object{"path": f.Path}, object{"path": f.Path}
			switch f.Action {
			case forge.Added:
				old = nil
			case forge.Removed:
				path = nil
			case forge.Renamed:
				old = object{"path": f.Before}
			}
			return object{"status": f.Action, "old": old, "new": path}
		})
	case r.is("GET", "/pullrequests/*/comments"):
		_, since, _ := strings.Cut(r.URL.Query().Get("q"), "updated_on>=")
		list := slices.DeleteFunc(slices.Clone(p.comments), func(c *comment) bool { return c.updated.Format("2006-01-02T15:04:05+00:00") < since })
		return values(w, r, list, size, talk)
	case r.is("POST", "/pullrequests/*/comments"):
		return http.StatusCreated, talk(w.say(p, Self, text()))
	case r.is("PUT", "/pullrequests/*/comments/*"):
		_, c := w.comment(r.number(1))
		if c == nil {
			return notFound()
		}
		c.text, c.updated = text(), w.now()
		return http.StatusOK, talk(c)
	}
	return 0, nil
}

// BitbucketServer is a repository at Bitbucket Data Center.
func BitbucketServer(t testing.TB) *World {
	return newWorld(t, forge.BitbucketServer, "ACME/infra", bitbucketServer, func(out http.ResponseWriter, scope bool) {
		if scope {
			out.Header().Set("X-AUSERNAME", Self)
			http.Error(out, `{"errors":[{"context":null,"message":"You are not permitted to access this resource","exceptionName":"com.atlassian.bitbucket.AuthorisationException"}]}`, http.StatusUnauthorized)
			return
		}
		http.Error(out, `{"errors":[{"context":null,"message":"Authentication failed. Please check your credentials and try again."}]}`, http.StatusUnauthorized)
	})
}

func dataCenter(name string) object { return object{"id": users[name], "name": name, "slug": name} }

// started is a page of a list that begins anywhere.
func started[T, U any](r *request, list []T, most int, show func(T) U) (int, any) {
	start, _ := strconv.Atoi(r.URL.Query().Get("start")) //nolint:errcheck // 0
	start = min(start, len(list))
	end := min(start+most, len(list))
	out := object{"values": shown(list[start:end], show), "isLastPage": end == len(list), "size": end - start, "start": start, "limit": most, "nextPageStart": nil}
	if end < len(list) {
		out["nextPageStart"] = end
	}
	return http.StatusOK, out
}

func bitbucketServer(w *World, r *request) (int, any) {
	r.out.Set("X-AUSERNAME", Self)
	switch {
	case r.is("GET", "/rest/api/1.0/users"):
		least := map[string]int{"REPO_READ": 1, "REPO_WRITE": 2, "REPO_ADMIN": 3}[r.URL.Query().Get("permission.1")]
		list := slices.DeleteFunc([]string{forgetest.Alice, forgetest.Alice + "2", forgetest.Bob, Self}, func(name string) bool {
			return !strings.HasPrefix(name, r.URL.Query().Get("filter")) || map[string]int{Self: 3, forgetest.Alice: 2, forgetest.Alice + "2": 3, forgetest.Bob: 1}[name] < least
		})
		return started(r, list, 1, dataCenter)
	case r.is("GET", "/rest/build-status/1.0/commits/*"):
		return started(r, w.statuses[r.args[0]], size, buildStatus)
	case r.is("POST", "/rest/build-status/1.0/commits/*"):
		code, _ := w.build(r)
		if code == http.StatusCreated {
			return http.StatusNoContent, nil
		}
		return code, nil
	}
	rest, ok := strings.CutPrefix(r.path, "/rest/api/1.0/projects/"+strings.Replace(w.name, "/", "/repos/", 1))
	if !ok {
		return 0, nil
	}
	r.path = rest
	switch {
	case r.is("GET", ""):
		out := w.serverRepository(w.name)
		out["links"] = object{"self": []object{{"href": w.URL + "/" + w.address() + "/browse"}}, "clone": []object{{"name": "http", "href": w.URL + "/scm/" + w.name + ".git"}}}
		return http.StatusOK, out
	case r.is("GET", "/branches/default"):
		return http.StatusOK, object{"id": "refs/heads/main", "displayId": "main"}
	case r.is("GET", "/pull-requests"):
		list := w.open()
		slices.SortFunc(list, func(a, b *pull) int { return b.number - a.number })
		return started(r, list, size, w.serverPull)
	case strings.HasPrefix(r.path, "/raw/"):
		path, _ := url.PathUnescape(strings.TrimPrefix(r.path, "/raw/")) //nolint:errcheck // not found
		return w.file(path, r.URL.Query().Get("at"))
	case strings.HasPrefix(r.path, "/pull-requests/"):
		number, _ := strconv.Atoi(strings.Split(r.path, "/")[2]) //nolint:errcheck // not found
		if p := w.pull(number); p != nil {
			return w.serverOne(r, p)
		}
		return http.StatusNotFound, object{"errors": []object{{"message": "Pull request " + strconv.Itoa(number) + " does not exist"}}}
	}
	return 0, nil
}

func (w *World) serverRepository(name string) object {
	key, slug, _ := strings.Cut(name, "/")
	return object{"id": 70 + len(name), "slug": slug, "public": false, "project": object{"key": key}}
}

func (w *World) serverPull(p *pull) object {
	end := func(repository, branch, commit string) object {
		return object{"id": "refs/heads/" + branch, "displayId": branch, "latestCommit": commit, "repository": w.serverRepository(repository)}
	}
	out := object{"id": p.number, "title": p.spec.Title, "draft": p.spec.Draft, "author": object{"user": dataCenter(p.spec.Author)}, "updatedDate": p.updated.UnixMilli(),
		"state":   map[forge.State]string{forge.Open: "OPEN", forge.Closed: "DECLINED", forge.Merged: "MERGED"}[p.state],
		"fromRef": end(w.source(p), p.spec.Branch, p.head), "toRef": end(w.name, "main", strings.Repeat("b", 40)), "properties": object{},
		"links": object{"self": []object{{"href": w.URL + "/pr/" + strconv.Itoa(p.number)}}}}
	if p.spec.Fork {
		out["fromRef"].(object)["repository"].(object)["id"] = 9999 //nolint:forcetypeassert // see above
	}
	if p.merge != "" {
		out["properties"] = object{"mergeCommit": object{"id": p.merge}}
	}
	out["reviewers"] = shown(p.present(), func(v review) object {
		return object{"user": dataCenter(v.who), "status": map[forge.Verdict]string{forge.Approved: "APPROVED", forge.Rejected: "NEEDS_WORK"}[v.verdict], "lastReviewedCommit": v.commit}
	})
	return out
}

func (w *World) serverOne(r *request, p *pull) (int, any) {
	talk := func(c *comment) object {
		return object{"id": c.id, "version": c.version, "text": c.text, "author": dataCenter(c.author), "createdDate": c.created.UnixMilli(), "updatedDate": c.updated.UnixMilli()}
	}
	switch {
	case r.is("GET", "/pull-requests/*"):
		return http.StatusOK, w.serverPull(p)
	case r.is("GET", "/pull-requests/*/changes"):
		return started(r, p.files, files, func(f forge.File) object {
			out := object{"path": object{"toString": f.Path}, "type": map[forge.Action]string{forge.Added: "ADD", forge.Modified: "MODIFY", forge.Removed: "DELETE", forge.Renamed: "MOVE"}[f.Action]}
			if f.Before != "" {
				out["srcPath"] = object{"toString": f.Before}
			}
			return out
		})
	case r.is("GET", "/pull-requests/*/activities"):
		list := slices.Clone(p.comments)
		slices.Reverse(list)
		return started(r, append([]*comment{nil}, list...), size, func(c *comment) object {
			if c == nil {
				return object{"action": "OPENED"}
			}
			return object{"action": "COMMENTED", "commentAction": "ADDED", "comment": talk(c)}
		})
	case r.is("POST", "/pull-requests/*/comments"):
		return http.StatusCreated, talk(w.say(p, Self, r.text("text")))
	case r.is("PUT", "/pull-requests/*/comments/*"):
		_, c := w.comment(r.number(1))
		number, _ := r.in["version"].(float64) //nolint:errcheck // a conflict
		switch {
		case c == nil:
			return notFound()
		case int(number) != c.version:
			return http.StatusConflict, object{"errors": []object{{"message": "You are attempting to modify a comment based on out-of-date information."}}}
		}
		c.text, c.updated, c.version = r.text("text"), w.now(), c.version+1
		return http.StatusOK, talk(c)
	}
	return 0, nil
}
