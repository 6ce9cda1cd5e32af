// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

type object = map[string]any

const apiVersion = "7.1"

var limits = forge.Limits{Comment: 150000, Description: 255, Name: 255, Files: 10000, Hidden: true, Details: true, Reactions: true, Codeowners: []string{"CODEOWNERS", ".azuredevops/CODEOWNERS", "docs/CODEOWNERS"}}

// connection is a connection to a repository.
type connection struct {
	*wire.Client
	// repo is the path of the repository below the API, page that of its page.
	repo, page string
	writes     wire.Writes

	lock sync.Mutex
	self string
}

var (
	paged   = regexp.MustCompile(`^(?:(.+)/)?([^/]+)/_git/([^/]+)$`)
	service = regexp.MustCompile(`^v3/([^/]+)/([^/]+)/([^/]+)$`)
)

// Open connects to a repository at Azure DevOps.
func Open(c forge.Config) (forge.Forge, error) {
	address, err := forge.ParseAddress(c.Repository)
	if err != nil {
		return nil, err
	}
	var base, project, name string
	if match := service.FindStringSubmatch(address.Path); match != nil { // git@ssh.dev.azure.com:v3/ORGANIZATION/PROJECT/NAME
		base, project, name = "https://"+strings.TrimPrefix(address.Host(), "ssh.")+"/"+url.PathEscape(match[1]), match[2], match[3]
	} else if match := paged.FindStringSubmatch(address.Path); match != nil {
		base, project, name = strings.TrimSuffix(address.Server+"/"+wire.EscapePath(match[1]), "/"), match[2], match[3]
	} else {
		return nil, errors.New("the address of a repository at Azure DevOps has the form https://dev.azure.com/ORGANIZATION/PROJECT/_git/NAME")
	}
	if c.Credentials.App != nil {
		return nil, errors.New("only GitHub has Apps: give a token")
	}
	client, err := wire.New(c, cmp.Or(c.API, base), c.Credentials.Token)
	if err != nil {
		return nil, err
	}
	client.Where, client.Scopes = project+"/"+name+" at "+address.Host(), scopes
	client.Authorize = func(_ context.Context, r *http.Request) error {
		// Otherwise it leads to a page to sign in.
		r.Header.Set("X-Tfs-Fedauthredirect", "Suppress")
		switch token := string(c.Credentials.Token); {
		case token == "":
		case strings.HasPrefix(token, "eyJ"):
			r.Header.Set("Authorization", "Bearer "+token) // of Entra ID
		default:
			r.SetBasicAuth(c.Credentials.User, token)
		}
		return nil
	}
	return &connection{Client: client, repo: "/" + url.PathEscape(project) + "/_apis/git/repositories/" + url.PathEscape(name),
		page: "/" + url.PathEscape(project) + "/_git/" + url.PathEscape(name)}, nil
}

// needed matches the permission in messages such as: TF401027: You need the Git 'PullRequestContribute' permission.
var needed = regexp.MustCompile(`You need the Git '([A-Za-z]+)' permission`)

func scopes(r wire.Refusal) ([]string, bool) {
	if match := needed.FindStringSubmatch(r.Message); match != nil && r.Status == http.StatusForbidden {
		return match[1:], true
	}
	return nil, false
}

func (f *connection) Kind() forge.Kind     { return forge.AzureDevOps }
func (f *connection) Limits() forge.Limits { return limits }

// call is a call about the repository. The query is a series of names and values.
func (f *connection) call(doing, method, path string, in, out any, query ...string) wire.Call {
	values := url.Values{"api-version": {apiVersion}}
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return wire.Call{Doing: doing, Method: method, Path: f.repo + path, Query: values, In: in, Out: out}
}

func (f *connection) ask(ctx context.Context, doing, method, path string, in, out any, query ...string) error {
	_, err := f.Do(ctx, f.call(doing, method, path, in, out, query...))
	return err
}

type values[T any] struct {
	Value []T `json:"value"`
}

type repository struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Branch    string `json:"defaultBranch"`
	WebURL    string `json:"webUrl"`
	RemoteURL string `json:"remoteUrl"`
	Disabled  bool   `json:"isDisabled"`
	Project   struct {
		Name       string `json:"name"`
		Visibility string `json:"visibility"`
	} `json:"project"`
}

func (r repository) name() string {
	if r.Name == "" {
		return ""
	}
	return r.Project.Name + "/" + r.Name
}

// Repository implements forge.Forge.
func (f *connection) Repository(ctx context.Context) (forge.Repository, error) {
	var r repository
	if err := f.ask(ctx, "read the description", http.MethodGet, "", nil, &r); err != nil {
		return forge.Repository{}, err
	}
	clone := ""
	if u, err := url.Parse(r.RemoteURL); err == nil {
		u.User = nil
		clone = u.String()
	}
	return forge.Repository{ID: r.ID, Name: r.name(), Branch: strings.TrimPrefix(r.Branch, "refs/heads/"), URL: r.WebURL, Clone: clone,
		Private: r.Project.Visibility != "public", Archived: r.Disabled}, nil
}

var sha = regexp.MustCompile(`^[0-9a-f]{40}$`)

// File implements forge.Forge.
func (f *connection) File(ctx context.Context, path, ref string) ([]byte, error) {
	kind := "branch"
	if sha.MatchString(ref) {
		kind = "commit"
	}
	var content []byte
	call := f.call("read the file "+strconv.Quote(path), http.MethodGet, "/items", nil, &content, "path", "/"+path, "versionDescriptor.version", ref,
		"versionDescriptor.versionType", kind, "$format", "octetStream")
	call.Header = http.Header{"Accept": {"application/octet-stream"}}
	_, err := f.Do(ctx, call)
	return content, err
}

type identity struct {
	ID     string `json:"id"`
	Unique string `json:"uniqueName"`
}

func (i identity) forge() forge.User { return forge.User{ID: i.ID, Name: i.Unique} }

func (f *connection) me(ctx context.Context) (string, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.self != "" {
		return f.self, nil
	}
	var data struct {
		User identity `json:"authenticatedUser"`
	}
	_, err := f.Do(ctx, wire.Call{Doing: "read the account of the token", Path: "/_apis/connectionData", Out: &data})
	f.self = data.User.ID
	return f.self, err
}

// Right implements forge.Forge.
func (f *connection) Right(_ context.Context, who forge.User) (forge.Right, error) {
	return forge.None, &forge.UnsupportedError{Doing: "read the rights of " + strconv.Quote(who.Name) + " of " + f.Where, Thing: "an API below the repository for the rights of others"}
}
