// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Azure is a repository at Azure DevOps.
func Azure(t testing.TB) *World {
	return newWorld(t, forge.AzureDevOps, "acme/infra", azure, func(out http.ResponseWriter, scope bool) {
		if scope {
			http.Error(out, `{"$id":"1","message":"TF401027: You need the Git 'PullRequestContribute' permission to perform this action.","typeKey":"GitNeedsPermissionException"}`, http.StatusForbidden)
			return
		}
		out.WriteHeader(http.StatusNonAuthoritativeInfo)
		out.Write([]byte("<html>Azure DevOps Services | Sign In</html>")) //nolint:errcheck // the client notices
	})
}

func person(name string) object {
	return object{"id": "guid-" + strconv.Itoa(users[name]), "uniqueName": name, "displayName": strings.ToUpper(name)}
}

func azureRepository(name string) object {
	project, repository, _ := strings.Cut(name, "/")
	return object{"id": "guid-" + name, "name": repository, "project": object{"name": project, "visibility": "private"}}
}

// skipped is a page of a list that begins anywhere.
func skipped[T any](r *request, list []T, most int) []T {
	skip, _ := strconv.Atoi(r.URL.Query().Get("$skip")) //nolint:errcheck // 0
	skip = min(skip, len(list))
	return list[skip:min(skip+most, len(list))]
}

func azure(w *World, r *request) (int, any) {
	if r.path == "/_apis/connectionData" {
		return http.StatusOK, object{"authenticatedUser": person(Self)}
	}
	rest, ok := strings.CutPrefix(r.path, "/"+strings.Replace(w.name, "/", "/_apis/git/repositories/", 1))
	if !ok {
		return http.StatusNotFound, object{"message": "TF401019: The Git repository with name or identifier does not exist"}
	}
	if r.URL.Query().Get("api-version") != "7.1" {
		return http.StatusBadRequest, object{"message": "No api-version was supplied"}
	}
	r.path = rest
	switch {
	case r.is("GET", ""):
		out := azureRepository(w.name)
		out["defaultBranch"], out["webUrl"], out["remoteUrl"] = "refs/heads/main", w.URL+"/"+w.address(), "https://acme@dev.azure.com/acme/_git/infra"
		return http.StatusOK, out
	case r.is("GET", "/pullrequests"):
		return http.StatusOK, object{"value": shown(skipped(r, w.open(), size), func(p *pull) object {
			out := w.azurePull(p)
			out["labels"] = shown(p.spec.Labels, func(l string) object { return object{"name": l, "active": true} })
			return out
		})}
	case r.is("GET", "/items"):
		return w.file(strings.TrimPrefix(r.URL.Query().Get("path"), "/"), r.URL.Query().Get("versionDescriptor.version"))
	case r.is("GET", "/commits/*/statuses"), r.is("POST", "/commits/*/statuses"):
		return w.azureStatus(r)
	case strings.HasPrefix(r.path, "/pullRequests/"):
		number, _ := strconv.Atoi(strings.Split(r.path, "/")[2]) //nolint:errcheck // not found
		if p := w.pull(number); p != nil {
			return w.azureOne(r, p)
		}
		return http.StatusNotFound, object{"message": "TF401180: The requested pull request was not found."}
	}
	return 0, nil
}

func (w *World) azurePull(p *pull) object {
	out := object{"pullRequestId": p.number, "title": p.spec.Title, "isDraft": p.spec.Draft, "createdBy": person(p.spec.Author),
		"status":        map[forge.State]string{forge.Open: "active", forge.Closed: "abandoned", forge.Merged: "completed"}[p.state],
		"sourceRefName": "refs/heads/" + p.spec.Branch, "targetRefName": "refs/heads/main", "mergeStatus": "succeeded", "repository": azureRepository(w.name),
		"lastMergeSourceCommit": object{"commitId": p.head}, "lastMergeTargetCommit": object{"commitId": strings.Repeat("b", 40)}, "lastMergeCommit": object{"commitId": strings.Repeat("e", 40)}}
	if p.spec.Fork {
		out["forkSource"] = object{"repository": azureRepository(w.source(p))}
	}
	if p.merge != "" {
		out["lastMergeCommit"] = object{"commitId": p.merge}
	}
	out["reviewers"] = shown(p.present(), func(v review) object {
		o := person(v.who)
		o["vote"] = map[forge.Verdict]int{forge.Approved: 10, forge.Rejected: -5}[v.verdict]
		return o
	})
	return out
}

func (w *World) azureOne(r *request, p *pull) (int, any) {
	talk := func(c *comment) object {
		return object{"id": 1, "content": c.text, "author": person(c.author), "commentType": "text", "publishedDate": c.created, "lastUpdatedDate": c.updated, "lastContentUpdatedDate": c.updated}
	}
	thread := func(c *comment) object { return object{"id": c.id, "isDeleted": false, "comments": []object{talk(c)}} }
	switch {
	case r.is("GET", "/pullRequests/*"):
		return http.StatusOK, w.azurePull(p)
	case r.is("GET", "/pullRequests/*/labels"):
		return http.StatusOK, object{"value": shown(p.spec.Labels, func(l string) object { return object{"name": l} })}
	case r.is("GET", "/pullRequests/*/iterations"):
		return http.StatusOK, object{"value": []object{{"id": 1}, {"id": len(p.versions)}}}
	case r.is("GET", "/pullRequests/*/iterations/*/changes"):
		part := skipped(r, p.files, files)
		skip, _ := strconv.Atoi(r.URL.Query().Get("$skip")) //nolint:errcheck // 0
		out := object{"changeEntries": shown(part, func(f forge.File) object {
			kind := map[forge.Action]string{forge.Added: "add", forge.Modified: "edit", forge.Removed: "delete", forge.Renamed: "edit, rename"}[f.Action]
			return object{"changeType": kind, "item": object{"path": "/" + f.Path}, "originalPath": "/" + f.Before}
		}), "nextSkip": 0}
		if skip+len(part) < len(p.files) {
			out["nextSkip"] = skip + len(part)
		}
		return http.StatusOK, out
	case r.is("GET", "/pullRequests/*/threads"):
		system := object{"id": 100000, "comments": []object{{"id": 1, "content": "Alice voted 10", "commentType": "system", "author": person(Self)}}}
		return http.StatusOK, object{"value": append([]object{system}, shown(p.comments, thread)...)}
	case r.is("POST", "/pullRequests/*/threads"):
		list, _ := r.in["comments"].([]any) //nolint:errcheck // refused
		if len(list) != 1 || r.text("status") != "closed" {
			return http.StatusBadRequest, object{"message": "invalid thread"}
		}
		text, _ := list[0].(object)["content"].(string) //nolint:errcheck,forcetypeassert // empty
		return http.StatusOK, thread(w.say(p, Self, text))
	case r.is("PATCH", "/pullRequests/*/threads/*/comments/1"):
		_, c := w.comment(r.number(1))
		if c == nil {
			return notFound()
		}
		c.text, c.updated = r.text("content"), w.now()
		return http.StatusOK, talk(c)
	case r.is("POST", "/pullRequests/*/threads/*/comments/1/likes"):
		return http.StatusOK, nil
	}
	return 0, nil
}

func (w *World) azureStatus(r *request) (int, any) {
	commit := r.args[0]
	show := func(s *status) object {
		genre, name, _ := strings.Cut(s.Name, "\n")
		return object{"state": s.state, "description": s.Description, "targetUrl": s.URL, "context": object{"genre": genre, "name": name}}
	}
	if r.Method == http.MethodGet {
		if r.URL.Query().Get("latestOnly") != "true" {
			return 0, nil
		}
		var latest []*status
		for _, s := range w.statuses[commit] {
			if !slices.ContainsFunc(latest, func(o *status) bool { return o.Name == s.Name }) {
				latest = append(latest, s)
			}
		}
		return http.StatusOK, object{"value": shown(latest, show)}
	}
	of, _ := r.in["context"].(object) //nolint:errcheck // empty
	genre, _ := of["genre"].(string)  //nolint:errcheck // empty
	name, _ := of["name"].(string)    //nolint:errcheck // refused
	if name == "" {
		return http.StatusBadRequest, object{"message": "context.name"}
	}
	s := &status{Status: forge.Status{Name: genre + "\n" + name, Description: r.text("description"), URL: r.text("targetUrl")}, state: r.text("state")}
	w.statuses[commit] = append([]*status{s}, w.statuses[commit]...)
	return http.StatusCreated, show(s)
}
