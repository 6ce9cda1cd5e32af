// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

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
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type object = map[string]any

var cloudLimits = forge.Limits{Comment: 32768, Description: 255, Name: 255, Files: 5000, Codeowners: []string{".bitbucket/CODEOWNERS", "CODEOWNERS"}}

// cloud is a connection to a repository at Bitbucket Cloud.
type cloud struct {
	*wire.Client
	workspace, slug, repo string
	writes                wire.Writes

	lock sync.Mutex
	self string
	full map[string]string
}

// Open connects to a repository at Bitbucket Cloud.
func Open(c forge.Config) (forge.Forge, error) {
	address, err := forge.ParseAddress(c.Repository)
	if err != nil {
		return nil, err
	}
	workspace, slug, _ := strings.Cut(address.Path, "/")
	if strings.Contains(slug, "/") {
		return nil, errors.New("the address of a repository at Bitbucket Cloud has the form https://bitbucket.org/WORKSPACE/NAME")
	}
	client, err := connect(c, cmp.Or(c.API, "https://api.bitbucket.org/2.0"))
	if err != nil {
		return nil, err
	}
	client.Where, client.Scopes = address.Path+" at "+address.Host(), cloudScopes
	return &cloud{Client: client, workspace: workspace, slug: slug, repo: "/repositories/" + address.Path, full: map[string]string{}}, nil
}

// connect makes a client that sends a token, or a password if there is a user.
func connect(c forge.Config, base string) (*wire.Client, error) {
	if c.Credentials.App != nil {
		return nil, errors.New("only GitHub has Apps: give a token")
	}
	client, err := wire.New(c, base, c.Credentials.Token)
	if err != nil {
		return nil, err
	}
	client.Authorize = func(_ context.Context, r *http.Request) error {
		switch token := string(c.Credentials.Token); {
		case token == "":
		case c.Credentials.User != "":
			r.SetBasicAuth(c.Credentials.User, token)
		default:
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
	return client, nil
}

// cloudScopes reads the scopes in a refusal.
func cloudScopes(r wire.Refusal) ([]string, bool) {
	var content struct {
		Error struct {
			Detail struct {
				Required []string `json:"required"`
			} `json:"detail"`
		} `json:"error"`
	}
	if r.Status != http.StatusForbidden || json.Unmarshal(r.Body, &content) != nil || len(content.Error.Detail.Required) == 0 {
		return nil, false
	}
	return content.Error.Detail.Required, true
}

func (f *cloud) Kind() forge.Kind     { return forge.Bitbucket }
func (f *cloud) Limits() forge.Limits { return cloudLimits }

func (f *cloud) ask(ctx context.Context, doing, method, path string, in, out any) error {
	_, err := f.Do(ctx, wire.Call{Doing: doing, Method: method, Path: f.repo + path, In: in, Out: out})
	return err
}

// cloudPage is a page of a list.
type cloudPage[T any] struct {
	Values []T    `json:"values"`
	Next   string `json:"next"`
}

// cloudList fetches a list. keep reports whether to go on.
func cloudList[T any](ctx context.Context, f *cloud, doing, path string, query url.Values, keep func(T) bool) (complete bool, err error) {
	complete = true
	call := wire.Call{Doing: doing, Path: f.repo + path, Query: query}
	err = wire.Pages(ctx, f.Client, call, func(p cloudPage[T], call wire.Call) (wire.Call, bool) {
		for _, v := range p.Values {
			if complete = keep(v); !complete {
				return call, false
			}
		}
		call.Path, call.Query = p.Next, nil
		return call, p.Next != ""
	})
	return complete, err
}

// Repository implements forge.Forge.
func (f *cloud) Repository(ctx context.Context) (forge.Repository, error) {
	var r struct {
		UUID     string `json:"uuid"`
		FullName string `json:"full_name"`
		Private  bool   `json:"is_private"`
		Main     struct {
			Name string `json:"name"`
		} `json:"mainbranch"`
		Links struct {
			HTML  href `json:"html"`
			Clone []struct {
				Name string `json:"name"`
				Href string `json:"href"`
			} `json:"clone"`
		} `json:"links"`
	}
	if err := f.ask(ctx, "read the description", http.MethodGet, "", nil, &r); err != nil {
		return forge.Repository{}, err
	}
	out := forge.Repository{ID: r.UUID, Name: r.FullName, Branch: r.Main.Name, URL: r.Links.HTML.Href, Private: r.Private}
	for _, c := range r.Links.Clone {
		if c.Name == "https" {
			out.Clone = withoutUser(c.Href)
		}
	}
	return out, nil
}

type href struct {
	Href string `json:"href"`
}

// withoutUser removes the name of our account that Bitbucket adds to addresses.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

type cloudUser struct {
	UUID     string `json:"uuid"`
	Nickname string `json:"nickname"`
}

func (u cloudUser) forge() forge.User { return forge.User{ID: u.UUID, Name: u.Nickname} }

func (f *cloud) me(ctx context.Context) (string, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.self != "" {
		return f.self, nil
	}
	var u cloudUser
	_, err := f.Do(ctx, wire.Call{Doing: "read the account of the token", Path: "/user", Out: &u})
	f.self = u.UUID
	return f.self, err
}

// commitOf is the whole id of a commit: pull requests have its first twelve digits only.
func (f *cloud) commitOf(ctx context.Context, id string) (string, error) {
	if id == "" || len(id) == 40 {
		return id, nil
	}
	f.lock.Lock()
	full := f.full[id]
	f.lock.Unlock()
	if full != "" {
		return full, nil
	}
	var c struct {
		Hash string `json:"hash"`
	}
	err := f.ask(ctx, "read the commit "+strconv.Quote(id), http.MethodGet, "/commit/"+url.PathEscape(id), nil, &c)
	var gone *forge.NotFoundError
	if errors.As(err, &gone) {
		return id, nil // of a fork that was deleted
	}
	if err != nil {
		return "", err
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.full) > 5000 {
		clear(f.full)
	}
	f.full[id] = c.Hash
	return c.Hash, nil
}

// File implements forge.Forge.
func (f *cloud) File(ctx context.Context, path, ref string) ([]byte, error) {
	var content []byte
	_, err := f.Do(ctx, wire.Call{Doing: "read the file " + strconv.Quote(path), Path: f.repo + "/src/" + url.PathEscape(ref) + "/" + wire.EscapePath(path),
		Out: &content, Header: http.Header{"Accept": {"*/*"}}})
	return content, err
}

// Right implements forge.Forge.
func (f *cloud) Right(ctx context.Context, who forge.User) (forge.Right, error) {
	field, value := "uuid", who.ID
	if value == "" {
		field, value = "nickname", who.Name
	}
	value = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
	query := url.Values{"q": {"user." + field + `="` + value + `"`}}
	right := forge.None
	call := wire.Call{Doing: "read the rights of " + strconv.Quote(who.Name), Path: "/workspaces/" + f.workspace + "/permissions/repositories/" + f.slug, Query: query}
	err := wire.Pages(ctx, f.Client, call, func(p cloudPage[struct {
		Permission string    `json:"permission"`
		User       cloudUser `json:"user"`
	}], call wire.Call) (wire.Call, bool) {
		for _, v := range p.Values {
			if who.ID == "" && v.User.Nickname == who.Name || who.ID != "" && v.User.UUID == who.ID {
				right = max(right, map[string]forge.Right{"read": forge.Read, "write": forge.Write, "admin": forge.Admin}[v.Permission])
			}
		}
		call.Path, call.Query = p.Next, nil
		return call, p.Next != ""
	})
	var scope *forge.ScopeError
	if errors.As(err, &scope) && len(scope.Missing) == 0 {
		scope.Advice = "its account must be an administrator of the workspace to read the rights of others"
	}
	return right, err
}

// after is the condition for what changed at or after a time.
func after(field string, since time.Time) string {
	return field + ">=" + since.UTC().Format("2006-01-02T15:04:05+00:00")
}
