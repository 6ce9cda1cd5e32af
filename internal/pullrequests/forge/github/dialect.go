// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

// dialect has what differs between the forges.
type dialect struct {
	kind forge.Kind
	// api returns the usual base URL of the API.
	api    func(forge.Address) string
	accept string
	// size is the parameter and value of the largest page, recent the order by the time of the last change.
	size   [2]string
	recent url.Values
	limits forge.Limits
	// raw fetches a file: its path below the repository, and what to accept.
	raw, rawAccept string
	// scopes finds the missing scopes in a refusal.
	scopes func(r wire.Refusal) ([]string, bool)
}

var gitHub = dialect{
	kind: forge.GitHub,
	api: func(a forge.Address) string {
		if a.Host() == "github.com" {
			return "https://api.github.com"
		}
		return a.Server + "/api/v3"
	},
	accept: "application/vnd.github+json",
	size:   [2]string{"per_page", "100"},
	recent: url.Values{"sort": {"updated"}, "direction": {"desc"}},
	limits: forge.Limits{Comment: 65536, Description: 140, Name: 255, Files: 3000, Details: true, Hidden: true, Reactions: true,
		Codeowners: []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}},
	raw: "/contents/", rawAccept: "application/vnd.github.raw+json",
	scopes: gitHubScopes,
}

var gitea = dialect{
	kind:   forge.Gitea,
	api:    func(a forge.Address) string { return a.Server + "/api/v1" },
	accept: "application/json",
	size:   [2]string{"limit", "50"},
	recent: url.Values{"sort": {"recentupdate"}},
	limits: forge.Limits{Comment: 65536, Description: 255, Name: 255, Files: 10000, Details: true, Hidden: true, Reactions: true,
		Codeowners: []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS", ".forgejo/CODEOWNERS"}},
	raw: "/raw/", rawAccept: "*/*",
	scopes: giteaScopes,
}

// gitHubScopes reads the headers in which GitHub names the accepted scopes of classic tokens, and the permissions of
// others.
func gitHubScopes(r wire.Refusal) ([]string, bool) {
	if r.Status != http.StatusForbidden && r.Status != http.StatusNotFound {
		return nil, false
	}
	if needed := r.Header.Get("X-Accepted-Github-Permissions"); needed != "" && r.Status == http.StatusForbidden {
		return split(needed, ";"), true
	}
	needed, given := split(r.Header.Get("X-Accepted-Oauth-Scopes"), ","), split(r.Header.Get("X-Oauth-Scopes"), ",")
	if len(needed) == 0 || r.Header.Values("X-Oauth-Scopes") == nil {
		return nil, false
	}
	for _, n := range needed {
		for _, g := range given {
			if n == g {
				return nil, false // it has the scope: the account lacks the right
			}
		}
	}
	return needed, true
}

// required matches Gitea's message: required=[write:issue], token scope=read:issue.
var required = regexp.MustCompile(`required=\[([^\]]*)\]`)

func giteaScopes(r wire.Refusal) ([]string, bool) {
	if r.Status != http.StatusForbidden {
		return nil, false
	}
	match := required.FindStringSubmatch(r.Message)
	if match == nil {
		return nil, false
	}
	return split(strings.ReplaceAll(match[1], " ", ","), ","), true
}

func split(list, by string) []string {
	var out []string
	for part := range strings.SplitSeq(list, by) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
