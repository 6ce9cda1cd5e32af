// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// apis are the usual paths of APIs. Another path of the same host may be a file that somebody pushed there.
var apis = map[forge.Kind][]string{forge.Gitea: {"/api/v1"}, forge.GitHub: {"/api/v3"}, forge.GitLab: {"/api/v4"}, forge.Bitbucket: {"/2.0"}, forge.BitbucketServer: {""}}

// identity names the repository whose members approve, for policies: HOST/OWNER/NAME. The host is the one that is asked,
// whatever the repository's address says: whoever writes the planner chooses the server, and must not speak for another
// one's accounts. An unusual address of the API is a part of the name, before a double slash. The name is empty if there
// is none that nothing else can have.
func identity(kind forge.Kind, api, repository string) string {
	address, err := forge.ParseAddress(repository)
	if err != nil {
		return ""
	}
	if api == "" {
		host := strings.ToLower(address.Host())
		if kind == forge.Bitbucket { // it has one API
			host = "bitbucket.org"
		}
		return host + "/" + address.Path
	}
	u, err := url.Parse(api)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return ""
	}
	host, path := strings.ToLower(u.Host), strings.TrimSuffix(u.Path, "/")
	switch {
	case kind == forge.GitHub && host == "api.github.com" && path == "":
		host = "github.com"
	case kind == forge.Bitbucket && host == "api.bitbucket.org" && path == "/2.0":
		host = "bitbucket.org"
	case !slices.Contains(apis[kind], path):
		return host + path + "//" + address.Path
	}
	return host + "/" + address.Path
}

// account are the ids of accounts that approvals are recorded of.
var account = regexp.MustCompile(`^[A-Za-z0-9{}_.-]{1,64}$`)

// accounts are the people of a repository as users for policies, with printable names.
func accounts(who []forge.User) (out []forge.User) {
	for _, u := range who {
		if account.MatchString(u.ID) {
			out = append(out, forge.User{ID: u.ID, Name: text(u.Name, maxTitle)})
		}
	}
	return out
}
