// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// connection is a connection to a repository.
type connection struct {
	dialect
	*wire.Client
	// repo is the path of the repository below the API.
	repo   string
	app    *app
	writes wire.Writes

	lock sync.Mutex
	self string
}

// Open connects to a repository at GitHub.
func Open(c forge.Config) (forge.Forge, error) { return open(c, gitHub) }

// OpenGitea connects to a repository at Gitea or Forgejo.
func OpenGitea(c forge.Config) (forge.Forge, error) { return open(c, gitea) }

func open(c forge.Config, d dialect) (forge.Forge, error) {
	address, err := forge.ParseAddress(c.Repository)
	if err != nil {
		return nil, err
	}
	if strings.Count(address.Path, "/") != 1 && d.kind == forge.GitHub {
		return nil, errors.New("the address of a repository at GitHub has the form https://HOST/OWNER/NAME")
	}
	// A Gitea can be below a path.
	at := strings.LastIndex(address.Path[:strings.LastIndex(address.Path, "/")], "/")
	if at >= 0 {
		address.Server, address.Path = address.Server+"/"+address.Path[:at], address.Path[at+1:]
	}
	secrets := []forge.Secret{c.Credentials.Token}
	if c.Credentials.App != nil {
		secrets = append(secrets, c.Credentials.App.Key)
	}
	client, err := wire.New(c, cmp.Or(c.API, d.api(address)), secrets...)
	if err != nil {
		return nil, err
	}
	f := &connection{dialect: d, Client: client, repo: "/repos/" + address.Path}
	client.Where = address.Path + " at " + address.Host()
	client.Scopes = d.scopes
	switch a := c.Credentials.App; {
	case a != nil && d.kind != forge.GitHub:
		return nil, errors.New("only GitHub has Apps: give a token")
	case a != nil:
		if f.app, err = newApp(c, a, f, client); err != nil {
			return nil, err
		}
		f.limits.Annotations = true
		client.Authorize = f.app.authorize
	default:
		f.self = c.Credentials.User
		client.Authorize = func(_ context.Context, r *http.Request) error {
			if c.Credentials.Token != "" {
				r.Header.Set("Authorization", "Bearer "+string(c.Credentials.Token))
			}
			return nil
		}
	}
	return f, nil
}

func (f *connection) Kind() forge.Kind     { return f.kind }
func (f *connection) Limits() forge.Limits { return f.limits }

// ask sends a call about the repository.
func (f *connection) ask(ctx context.Context, doing, method, path string, in, out any) error {
	_, err := f.Do(ctx, f.call(doing, method, path, in, out))
	return err
}

func (f *connection) call(doing, method, path string, in, out any) wire.Call {
	header := http.Header{"Accept": {f.accept}}
	if f.kind == forge.GitHub {
		header.Set("X-Github-Api-Version", "2022-11-28")
	}
	return wire.Call{Doing: doing, Method: method, Path: f.repo + path, In: in, Out: out, Header: header}
}

// list is a call for the first page of a list.
func (f *connection) list(doing, path string, query url.Values) wire.Call {
	call := f.call(doing, http.MethodGet, path, nil, nil)
	call.Query = url.Values{f.size[0]: {f.size[1]}}
	for name, values := range query {
		call.Query[name] = values
	}
	return call
}

// Repository implements forge.Forge.
func (f *connection) Repository(ctx context.Context) (forge.Repository, error) {
	var r struct {
		ID            int64  `json:"id"`
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
		HTMLURL       string `json:"html_url"`
		CloneURL      string `json:"clone_url"`
		Private       bool   `json:"private"`
		Archived      bool   `json:"archived"`
	}
	if err := f.ask(ctx, "read the description", http.MethodGet, "", nil, &r); err != nil {
		return forge.Repository{}, err
	}
	return forge.Repository{ID: strconv.FormatInt(r.ID, 10), Name: r.FullName, Branch: r.DefaultBranch, URL: r.HTMLURL,
		Clone: r.CloneURL, Private: r.Private, Archived: r.Archived}, nil
}

// File implements forge.Forge.
func (f *connection) File(ctx context.Context, path, ref string) ([]byte, error) {
	var content []byte
	call := f.call("read the file "+strconv.Quote(path), http.MethodGet, f.raw+wire.EscapePath(path), nil, &content)
	call.Header.Set("Accept", f.rawAccept)
	call.Query = url.Values{"ref": {ref}}
	_, err := f.Do(ctx, call)
	return content, err
}

// user is an account.
type user struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

func (u user) forge() forge.User {
	if u.Login == "" {
		return forge.User{}
	}
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Name: u.Login}
}

// me is the name of our own account.
func (f *connection) me(ctx context.Context) (string, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.self != "" {
		return f.self, nil
	}
	if f.app != nil {
		name, err := f.app.name(ctx)
		f.self = name
		return name, err
	}
	var u user
	if _, err := f.Do(ctx, wire.Call{Doing: "read the account of the token", Path: "/user", Out: &u, Header: http.Header{"Accept": {f.accept}}}); err != nil {
		return "", err
	}
	f.self = u.Login
	return f.self, nil
}

// Right implements forge.Forge.
func (f *connection) Right(ctx context.Context, who forge.User) (forge.Right, error) {
	var p struct {
		Permission string `json:"permission"`
	}
	err := f.ask(ctx, "read the rights of "+strconv.Quote(who.Name), http.MethodGet, "/collaborators/"+url.PathEscape(who.Name)+"/permission", nil, &p)
	var (
		gone  *forge.NotFoundError
		scope *forge.ScopeError
	)
	switch {
	case errors.As(err, &gone):
		return forge.None, nil // not an account
	case errors.As(err, &scope) && len(scope.Missing) == 0:
		scope.Advice = "its account must be an administrator of the repository to read the rights of others"
		return forge.None, err
	case err != nil:
		return forge.None, err
	}
	switch p.Permission {
	case "owner", "admin":
		return forge.Admin, nil
	case "write":
		return forge.Write, nil
	case "read":
		return forge.Read, nil
	}
	return forge.None, nil
}
