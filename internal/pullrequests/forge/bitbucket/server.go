// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

var serverLimits = forge.Limits{Comment: 32768, Description: 255, Name: 255, Files: 5000, Codeowners: []string{"CODEOWNERS", ".bitbucket/CODEOWNERS", "docs/CODEOWNERS"}}

// server is a connection to a repository at Bitbucket Data Center.
type server struct {
	*wire.Client
	project, slug, repo string
	writes              wire.Writes
}

// serverPath matches the paths of pages and of git: projects/KEY/repos/NAME, scm/KEY/NAME, KEY/NAME.
var serverPath = regexp.MustCompile(`^(?:(.+)/)?(?:projects/([^/]+)/repos/([^/]+)|scm/([^/]+)/([^/]+))(?:/browse)?$`)

// OpenServer connects to a repository at Bitbucket Data Center.
func OpenServer(c forge.Config) (forge.Forge, error) {
	address, err := forge.ParseAddress(c.Repository)
	if err != nil {
		return nil, err
	}
	base, project, slug := address.Server, "", ""
	if match := serverPath.FindStringSubmatch(address.Path); match != nil {
		project, slug = match[2]+match[4], match[3]+match[5]
		if match[1] != "" {
			base += "/" + match[1]
		}
	} else {
		project, slug, _ = strings.Cut(address.Path, "/")
	}
	if slug == "" || strings.Contains(slug, "/") {
		return nil, errors.New("the address of a repository at Bitbucket Data Center has the form https://HOST/projects/KEY/repos/NAME or https://HOST/scm/KEY/NAME.git")
	}
	client, err := connect(c, cmp.Or(c.API, base))
	if err != nil {
		return nil, err
	}
	client.Where = project + "/" + slug + " at " + address.Host()
	client.Scopes = serverScopes
	return &server{Client: client, project: project, slug: slug, repo: "/rest/api/1.0/projects/" + url.PathEscape(project) + "/repos/" + url.PathEscape(slug)}, nil
}

// serverScopes: Data Center does not name permissions in a form that can be read, but its message does: "You are not
// permitted to access this resource". A 401 with a valid account is the same.
func serverScopes(r wire.Refusal) ([]string, bool) {
	name := r.Header.Get("X-Ausername")
	if r.Status == http.StatusForbidden || r.Status == http.StatusUnauthorized && name != "" && name != "anonymous" {
		return []string{"REPO_WRITE"}, true
	}
	return nil, false
}

func (f *server) Kind() forge.Kind     { return forge.BitbucketServer }
func (f *server) Limits() forge.Limits { return serverLimits }

func (f *server) ask(ctx context.Context, doing, method, path string, in, out any) (http.Header, error) {
	return f.Do(ctx, wire.Call{Doing: doing, Method: method, Path: f.repo + path, In: in, Out: out})
}

type serverPage[T any] struct {
	Values []T  `json:"values"`
	Last   bool `json:"isLastPage"`
	Next   int  `json:"nextPageStart"`
}

func serverList[T any](ctx context.Context, f *server, call wire.Call, keep func(T) bool) (complete bool, err error) {
	complete = true
	if call.Query == nil {
		call.Query = url.Values{}
	}
	call.Query.Set("limit", "100")
	err = wire.Pages(ctx, f.Client, call, func(p serverPage[T], call wire.Call) (wire.Call, bool) {
		for _, v := range p.Values {
			if complete = keep(v); !complete {
				return call, false
			}
		}
		call.Query.Set("start", strconv.Itoa(p.Next))
		return call, !p.Last && p.Next > 0
	})
	return complete, err
}

type serverRepository struct {
	ID      int64  `json:"id"`
	Slug    string `json:"slug"`
	Public  bool   `json:"public"`
	Archive bool   `json:"archived"`
	Project struct {
		Key string `json:"key"`
	} `json:"project"`
	Links struct {
		Self  []href `json:"self"`
		Clone []struct {
			Name string `json:"name"`
			Href string `json:"href"`
		} `json:"clone"`
	} `json:"links"`
}

func (r serverRepository) name() string {
	if r.Slug == "" {
		return ""
	}
	return r.Project.Key + "/" + r.Slug
}

// Repository implements forge.Forge.
func (f *server) Repository(ctx context.Context) (forge.Repository, error) {
	var r serverRepository
	if _, err := f.ask(ctx, "read the description", http.MethodGet, "", nil, &r); err != nil {
		return forge.Repository{}, err
	}
	var b struct {
		Name string `json:"displayId"`
	}
	if _, err := f.ask(ctx, "read the default branch", http.MethodGet, "/branches/default", nil, &b); err != nil {
		return forge.Repository{}, err
	}
	out := forge.Repository{ID: strconv.FormatInt(r.ID, 10), Name: r.name(), Branch: b.Name, Private: !r.Public, Archived: r.Archive}
	if len(r.Links.Self) > 0 {
		out.URL = r.Links.Self[0].Href
	}
	for _, c := range r.Links.Clone {
		if c.Name == "http" {
			out.Clone = withoutUser(c.Href)
		}
	}
	return out, nil
}

// File implements forge.Forge.
func (f *server) File(ctx context.Context, path, ref string) ([]byte, error) {
	var content []byte
	_, err := f.Do(ctx, wire.Call{Doing: "read the file " + strconv.Quote(path), Path: f.repo + "/raw/" + wire.EscapePath(path), Query: url.Values{"at": {ref}},
		Out: &content, Header: http.Header{"Accept": {"*/*"}}})
	return content, err
}

type serverUser struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func (u serverUser) forge() forge.User {
	if u.ID == 0 {
		return forge.User{}
	}
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Name: u.Name}
}

// Right implements forge.Forge. The API lists the accounts that have a permission, by groups, too.
func (f *server) Right(ctx context.Context, who forge.User) (forge.Right, error) {
	for _, step := range []struct {
		permission string
		right      forge.Right
	}{{"REPO_ADMIN", forge.Admin}, {"REPO_WRITE", forge.Write}, {"REPO_READ", forge.Read}} {
		has := false
		call := wire.Call{Doing: "read the rights of " + strconv.Quote(who.Name), Path: "/rest/api/1.0/users", Query: url.Values{"filter": {who.Name},
			"permission.1": {step.permission}, "permission.1.projectKey": {f.project}, "permission.1.repositorySlug": {f.slug}}}
		_, err := serverList(ctx, f, call, func(u serverUser) bool {
			has = has || u.Name == who.Name
			return !has
		})
		if err != nil || has {
			return step.right, err
		}
	}
	return forge.None, nil
}

// millis is a time in milliseconds.
type millis int64

func (m millis) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}
