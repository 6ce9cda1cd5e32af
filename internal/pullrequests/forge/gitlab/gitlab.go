// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

var limits = forge.Limits{Comment: 1_000_000, Description: 255, Name: 255, Files: 3000, Details: true, Hidden: true, Reactions: true,
	Codeowners: []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}}

// connection is a connection to a project.
type connection struct {
	*wire.Client
	// project is the path of the project below the API.
	project string
	writes  wire.Writes

	lock sync.Mutex
	self int64
}

// Open connects to a project at GitLab.
func Open(c forge.Config) (forge.Forge, error) {
	address, err := forge.ParseAddress(c.Repository)
	if err != nil {
		return nil, err
	}
	if c.Credentials.App != nil {
		return nil, errors.New("only GitHub has Apps: give a token")
	}
	base, path := cmp.Or(c.API, address.Server+"/api/v4"), address.Path
	// A GitLab can be below a path: the API's address tells.
	if u, err := url.Parse(base); err == nil && c.API != "" {
		if prefix, ok := strings.CutSuffix(u.Path, "/api/v4"); ok {
			path = strings.TrimPrefix(path, strings.TrimPrefix(prefix, "/")+"/")
		}
	}
	client, err := wire.New(c, base, c.Credentials.Token)
	if err != nil {
		return nil, err
	}
	client.Where, client.Scopes = path+" at "+address.Host(), scopes
	client.Authorize = func(_ context.Context, r *http.Request) error {
		if c.Credentials.Token != "" {
			// Tokens of people, projects, groups and OAuth are all accepted here.
			r.Header.Set("Authorization", "Bearer "+string(c.Credentials.Token))
		}
		return nil
	}
	return &connection{Client: client, project: "/projects/" + url.PathEscape(path)}, nil
}

// scopes reads the error insufficient_scope of RFC 6750.
func scopes(r wire.Refusal) ([]string, bool) {
	var content struct {
		Error string `json:"error"`
		Scope string `json:"scope"`
	}
	if r.Status != http.StatusForbidden || json.Unmarshal(r.Body, &content) != nil || content.Error != "insufficient_scope" {
		return nil, false
	}
	return strings.Fields(content.Scope), true
}

func (f *connection) Kind() forge.Kind     { return forge.GitLab }
func (f *connection) Limits() forge.Limits { return limits }

func (f *connection) ask(ctx context.Context, doing, method, path string, in, out any) error {
	_, err := f.Do(ctx, wire.Call{Doing: doing, Method: method, Path: f.project + path, In: in, Out: out})
	return err
}

// list is a call for the first page of a list. The query is a series of names and values.
func (f *connection) list(doing, path string, query ...string) wire.Call {
	values := url.Values{"per_page": {"100"}}
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return wire.Call{Doing: doing, Path: f.project + path, Query: values}
}

type project struct {
	ID         int64  `json:"id"`
	Path       string `json:"path_with_namespace"`
	Branch     string `json:"default_branch"`
	WebURL     string `json:"web_url"`
	Clone      string `json:"http_url_to_repo"`
	Visibility string `json:"visibility"`
	Archived   bool   `json:"archived"`
}

// Repository implements forge.Forge.
func (f *connection) Repository(ctx context.Context) (forge.Repository, error) {
	var p project
	if err := f.ask(ctx, "read the description", http.MethodGet, "", nil, &p); err != nil {
		return forge.Repository{}, err
	}
	return forge.Repository{ID: strconv.FormatInt(p.ID, 10), Name: p.Path, Branch: p.Branch, URL: p.WebURL, Clone: p.Clone,
		Private: p.Visibility != "public", Archived: p.Archived}, nil
}

// File implements forge.Forge.
func (f *connection) File(ctx context.Context, path, ref string) ([]byte, error) {
	var content []byte
	_, err := f.Do(ctx, wire.Call{Doing: "read the file " + strconv.Quote(path), Path: f.project + "/repository/files/" + url.PathEscape(path) + "/raw",
		Query: url.Values{"ref": {ref}}, Out: &content, Header: http.Header{"Accept": {"*/*"}}})
	return content, err
}

type user struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

func (u user) forge() forge.User {
	if u.ID == 0 {
		return forge.User{}
	}
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Name: u.Username}
}

// me is the id of our own account.
func (f *connection) me(ctx context.Context) (int64, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.self != 0 {
		return f.self, nil
	}
	var u user
	if _, err := f.Do(ctx, wire.Call{Doing: "read the account of the token", Path: "/user", Out: &u}); err != nil {
		return 0, err
	}
	f.self = u.ID
	return f.self, nil
}

// The access levels of members.
const (
	reporter   = 20
	developer  = 30
	maintainer = 40
)

// Right implements forge.Forge.
func (f *connection) Right(ctx context.Context, who forge.User) (forge.Right, error) {
	id, err := f.idOf(ctx, who)
	if err != nil || id == "" {
		return forge.None, err
	}
	var member struct {
		Level int    `json:"access_level"`
		State string `json:"state"`
	}
	err = f.ask(ctx, "read the rights of "+strconv.Quote(who.Name), http.MethodGet, "/members/all/"+id, nil, &member)
	var gone *forge.NotFoundError
	switch {
	case errors.As(err, &gone):
		return forge.None, nil // not a member
	case err != nil:
		return forge.None, err
	case member.State != "" && member.State != "active":
		return forge.None, nil
	case member.Level >= maintainer:
		return forge.Admin, nil
	case member.Level >= developer:
		return forge.Write, nil
	case member.Level >= reporter:
		return forge.Read, nil
	}
	return forge.None, nil
}

// idOf is the id of an account, empty if there is none of that name.
func (f *connection) idOf(ctx context.Context, who forge.User) (string, error) {
	if _, err := strconv.ParseInt(who.ID, 10, 64); err == nil {
		return who.ID, nil
	}
	var found []user
	_, err := f.Do(ctx, wire.Call{Doing: "find the account " + strconv.Quote(who.Name), Path: "/users", Query: url.Values{"username": {who.Name}}, Out: &found})
	if err != nil || len(found) != 1 {
		return "", err
	}
	return strconv.FormatInt(found[0].ID, 10), nil
}
