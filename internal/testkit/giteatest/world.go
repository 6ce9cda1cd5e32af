// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package giteatest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// World is a repository of an organization of its own. Our account administers it, Alice writes, Bob reads.
type World struct {
	*Server
	open      func(forge.Config) (forge.Forge, error)
	org, name string
	pulls     map[int]forgetest.Pull
}

// before is the content of the branch main.
var before = map[string]string{"main.tf": "# main\n", "old.tf": strings.Repeat("# old\n", 20), "gone.tf": "# gone\n"}

// World makes a repository. open opens connections to it.
func (s *Server) World(t testing.TB, open func(forge.Config) (forge.Forge, error)) *World {
	t.Helper()
	w := &World{Server: s, open: open, org: fmt.Sprintf("acme-%d", s.worlds.Add(1)), name: "infra", pulls: map[int]forgetest.Pull{}}
	s.Do(t, "", http.MethodPost, "/orgs", object{"username": w.org, "visibility": "public"}, nil)
	s.Do(t, "", http.MethodPost, "/orgs/"+w.org+"/repos", object{"name": w.name, "auto_init": true, "default_branch": "main"}, nil)
	for who, right := range map[string]string{Self: "admin", forgetest.Alice: "write", forgetest.Bob: "read"} {
		s.Do(t, "", http.MethodPut, w.repo("/collaborators/"+who), object{"permission": right}, nil)
	}
	w.commit(t, "", w.org, object{"branch": "main", "files": uploads(before)})
	return w
}

// repo is a path of the API below the repository.
func (w *World) repo(path string) string { return "/repos/" + w.Name() + path }

// Name implements forgetest.World.
func (w *World) Name() string { return w.org + "/" + w.name }

// Config implements forgetest.World.
func (w *World) Config(_ testing.TB, token forgetest.Token) forge.Config {
	return forge.Config{Kind: forge.Gitea, Repository: w.URL + "/" + w.Name(), Credentials: forge.Credentials{Token: forge.Secret(w.tokens[token])}}
}

// Open implements forgetest.World.
func (w *World) Open(t testing.TB, c forge.Config) forge.Forge {
	t.Helper()
	f, err := w.open(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// uploads are operations that write files.
func uploads(files map[string]string) []object {
	var out []object
	for _, path := range slices.Sorted(maps.Keys(files)) {
		out = append(out, object{"operation": "upload", "path": path, "content": base64.StdEncoding.EncodeToString([]byte(files[path]))})
	}
	return out
}

// commit changes files in the owner's repository, and returns the commit.
func (w *World) commit(t testing.TB, who, owner string, change object) string {
	t.Helper()
	var out struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	}
	change["message"] = "Change files"
	w.Do(t, who, http.MethodPost, "/repos/"+owner+"/"+w.name+"/contents", change, &out)
	return out.Commit.SHA
}

// sha is the id of a file's content on main.
func (w *World) sha(t testing.TB, path string) string {
	t.Helper()
	var out struct {
		SHA string `json:"sha"`
	}
	w.Do(t, "", http.MethodGet, w.repo("/contents/"+url.PathEscape(path)+"?ref=main"), nil, &out)
	return out.SHA
}

// Create implements forgetest.World.
func (w *World) Create(t testing.TB, p forgetest.Pull) int {
	t.Helper()
	owner, head, title := w.org, p.Branch, p.Title
	if p.Fork {
		owner, head = p.Author, p.Author+":"+p.Branch
		w.Do(t, p.Author, http.MethodPost, w.repo("/forks"), object{}, nil)
		t.Cleanup(func() { w.Do(t, "", http.MethodDelete, "/repos/"+p.Author+"/"+w.name, nil, nil) })
	}
	if p.Draft {
		title = "WIP: " + title
	}
	files := uploads(p.Write)
	for _, path := range p.Remove {
		files = append(files, object{"operation": "delete", "path": path, "sha": w.sha(t, path)})
	}
	for old, path := range p.Rename {
		files = append(files, object{"operation": "update", "path": path, "from_path": old, "sha": w.sha(t, old), "content": base64.StdEncoding.EncodeToString([]byte(before[old]))})
	}
	w.commit(t, p.Author, owner, object{"branch": "main", "new_branch": p.Branch, "files": files})
	labels := []int{}
	for _, name := range p.Labels {
		var label struct {
			ID int `json:"id"`
		}
		w.Do(t, "", http.MethodPost, w.repo("/labels"), object{"name": name, "color": "#00aabb"}, &label)
		labels = append(labels, label.ID)
	}
	var made struct {
		Number int `json:"number"`
	}
	w.Do(t, p.Author, http.MethodPost, w.repo("/pulls"), object{"head": head, "base": "main", "title": title}, &made)
	if len(labels) > 0 {
		w.Do(t, "", http.MethodPut, w.repo("/issues/"+strconv.Itoa(made.Number)+"/labels"), object{"labels": labels}, nil)
	}
	w.pulls[made.Number] = p
	return made.Number
}

// Propose makes a pull request of a branch that exists, for instance because git has pushed it.
func (w *World) Propose(t testing.TB, who, branch, title string) int {
	t.Helper()
	var made struct {
		Number int `json:"number"`
	}
	w.Do(t, who, http.MethodPost, w.repo("/pulls"), object{"head": branch, "base": "main", "title": title}, &made)
	w.pulls[made.Number] = forgetest.Pull{Branch: branch, Title: title, Author: who}
	return made.Number
}

// pull is a path of the API below a pull request.
func (w *World) pull(number int, path string) string {
	return w.repo("/pulls/" + strconv.Itoa(number) + path)
}

// Push implements forgetest.World.
func (w *World) Push(t testing.TB, number int, write map[string]string) string {
	t.Helper()
	p := w.pulls[number]
	owner := w.org
	if p.Fork {
		owner = p.Author
	}
	return w.commit(t, p.Author, owner, object{"branch": p.Branch, "files": uploads(write)})
}

// Say implements forgetest.World.
func (w *World) Say(t testing.TB, number int, who, text string) string {
	t.Helper()
	var out struct {
		ID int64 `json:"id"`
	}
	w.Do(t, who, http.MethodPost, w.repo("/issues/"+strconv.Itoa(number)+"/comments"), object{"body": text}, &out)
	return strconv.FormatInt(out.ID, 10)
}

// Review implements forgetest.World.
func (w *World) Review(t testing.TB, number int, who string, v forge.Verdict) {
	t.Helper()
	event := map[forge.Verdict]string{forge.Approved: "APPROVED", forge.Rejected: "REQUEST_CHANGES"}[v]
	w.Do(t, who, http.MethodPost, w.pull(number, "/reviews"), object{"event": event, "body": "A review"}, nil)
}

// Merge implements forgetest.World.
func (w *World) Merge(t testing.TB, number int) string {
	t.Helper()
	// Gitea checks in the background whether it can be merged, and refuses until then.
	forgetest.Eventually(t, "Gitea merges", func() bool {
		code, _ := w.send(t, http.MethodPost, w.pull(number, "/merge"), object{"Do": "merge"}, nil, func(r *http.Request) { r.Header.Set("Authorization", "token "+w.token) })
		return code < http.StatusBadRequest
	})
	var out struct {
		Commit string `json:"merge_commit_sha"`
	}
	w.Do(t, "", http.MethodGet, w.pull(number, ""), nil, &out)
	return out.Commit
}

// Close implements forgetest.World.
func (w *World) Close(t testing.TB, number int) {
	t.Helper()
	w.Do(t, "", http.MethodPatch, w.pull(number, ""), object{"state": "closed"}, nil)
}

// Rename implements forgetest.World.
func (w *World) Rename(t testing.TB, name string) {
	t.Helper()
	w.Do(t, "", http.MethodPatch, w.repo(""), object{"name": name}, nil)
	w.name = name
}

// Hook has Gitea send all events of the repository to an address.
func (w *World) Hook(t testing.TB, address, secret string) {
	t.Helper()
	w.Do(t, "", http.MethodPost, w.repo("/hooks"), object{"type": "gitea", "active": true, "config": object{"url": address, "content_type": "json", "secret": secret},
		"events": []string{"push", "pull_request", "pull_request_sync", "pull_request_comment", "issue_comment", "pull_request_review", "pull_request_review_approved", "pull_request_review_rejected"}}, nil)
}

// HTML is how Gitea shows a comment.
func (w *World) HTML(t testing.TB, markdown string) string {
	t.Helper()
	code, text := w.send(t, http.MethodPost, "/markdown", object{"Text": markdown, "Mode": "comment", "Context": w.Name()}, nil, func(r *http.Request) { r.Header.Set("Authorization", "token "+w.token) })
	if code != http.StatusOK {
		t.Fatalf("render: %d %s", code, text)
	}
	return text
}

// Put writes files to the branch main, as a person with all rights, and returns the commit.
func (w *World) Put(t testing.TB, files map[string]string) string {
	t.Helper()
	return w.commit(t, "", w.org, object{"branch": "main", "files": uploads(files)})
}

// Clone is the address of the repository for git.
func (w *World) Clone() string { return w.URL + "/" + w.Name() + ".git" }

// Token is a token of our account.
func (w *World) Token(kind forgetest.Token) string { return w.tokens[kind] }

// Reactions reports whether the newest comment of a person has a reaction of ours.
func (w *World) Reactions(t testing.TB, number int, who string) bool {
	t.Helper()
	var comments []struct {
		ID   int64                  `json:"id"`
		User struct{ Login string } `json:"user"`
	}
	w.Do(t, "", http.MethodGet, w.repo("/issues/"+strconv.Itoa(number)+"/comments"), nil, &comments)
	for _, c := range slices.Backward(comments) {
		if c.User.Login != who {
			continue
		}
		var reactions []struct{ Content string }
		w.Do(t, "", http.MethodGet, w.repo("/issues/comments/"+strconv.FormatInt(c.ID, 10)+"/reactions"), nil, &reactions)
		return len(reactions) > 0
	}
	return false
}
