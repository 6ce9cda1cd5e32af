// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestIdentity(t *testing.T) {
	const ours = "https://git.example.com/acme/infra"
	for sentence, c := range map[string]struct {
		kind            forge.Kind
		api, repository string
		want            string
	}{
		"the usual API":                       {forge.Gitea, "", ours + ".git", "git.example.com/acme/infra"},
		"an address of ssh":                   {forge.GitHub, "", "git@github.com:acme/infra.git", "github.com/acme/infra"},
		"the host in capitals":                {forge.Gitea, "", "https://Git.Example.com/acme/infra", "git.example.com/acme/infra"},
		"groups of groups":                    {forge.GitLab, "", "https://gitlab.com/acme/net/infra", "gitlab.com/acme/net/infra"},
		"GitHub's API":                        {forge.GitHub, "https://api.github.com", "https://github.com/acme/infra", "github.com/acme/infra"},
		"the usual API, named":                {forge.Gitea, "https://git.example.com/api/v1/", ours, "git.example.com/acme/infra"},
		"Data Center":                         {forge.BitbucketServer, "https://git.example.com:7990", "https://git.example.com:7990/scm/acme/infra", "git.example.com:7990/scm/acme/infra"},
		"a server of one's own":               {forge.GitHub, "https://evil.example.net/api/v3", "https://github.com/acme/infra", "evil.example.net/acme/infra"},
		"a server of one's own, without path": {forge.GitHub, "https://evil.example.net", "https://github.com/acme/infra", "evil.example.net//acme/infra"},
		"Bitbucket, for another host":         {forge.Bitbucket, "", "https://github.com/acme/infra", "bitbucket.org/acme/infra"},
		"files that somebody pushed":          {forge.Gitea, "https://git.example.com/evil/files/raw/branch/main/api/v1", ours, "git.example.com/evil/files/raw/branch/main/api/v1//acme/infra"},
		"files below a repository's address":  {forge.Gitea, "", "https://git.example.com/evil/files/raw/branch/main/acme/infra", "git.example.com/evil/files/raw/branch/main/acme/infra"},
		"a user in the address":               {forge.GitHub, "https://api.github.com@evil.example.net/api/v3", ours, ""},
		"a query":                             {forge.GitHub, "https://git.example.com/api/v3?x=", ours, ""},
		"no repository":                       {forge.GitHub, "", "file:///tmp/x", ""},
	} {
		if got := identity(c.kind, c.api, c.repository); got != c.want {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}

func TestAccounts(t *testing.T) {
	got := accounts([]forge.User{{ID: "5", Name: "alice\x1b[31m"}, {Name: "without-id"}, {ID: "5:members", Name: "a"}, {ID: strings.Repeat("1", 65), Name: "b"}, {ID: "{1f-2e}", Name: "bob"}})
	if diff := cmp.Diff([]forge.User{{ID: "5", Name: "alice [31m"}, {ID: "{1f-2e}", Name: "bob"}}, got); diff != "" {
		t.Error(diff)
	}
}

// erased are the keys that are deleted.
type erased struct {
	Store
	keys []string
}

func (e *erased) Delete(_ context.Context, key string) error {
	e.keys = append(e.keys, key)
	return nil
}

// TestAnotherServerIsForgotten: what a server of one's own said must not count as what the real one said.
func TestAnotherServerIsForgotten(t *testing.T) {
	store := &erased{}
	r := &Reconciler{Store: store}
	m := &memory{uid: "u", links: map[string]*link{"infra": {identity: "git.example.com/acme/infra"}}, pulls: map[pullKey]*pull{}}
	for i, of := range []string{"git.example.com/acme/infra", "evil.example.net/acme/infra", ""} {
		p := &pull{Source: "infra", Of: of, stored: "sum", Allowed: "head", Approvals: []approval{{Who: forge.User{ID: "17", Name: "alice"}}}}
		p.Now.Number = i
		m.pulls[p.key()] = p
	}
	away := &pull{Source: "without-a-connection", Of: "git.example.com/acme/other"}
	m.pulls[away.key()] = away
	if err := r.disown(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if len(m.pulls) != 2 || m.pulls[pullKey{"infra", 0}] == nil || m.pulls[away.key()] == nil {
		t.Errorf("known are %v", m.pulls)
	}
	if slices.Sort(store.keys); !slices.Equal(store.keys, []string{"pullrequests/u/infra/1.json", "pullrequests/u/infra/2.json"}) {
		t.Errorf("erased are %v", store.keys)
	}
}
