// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket_test

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/bitbucket"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// world opens connections with this package.
type world struct {
	*forgefake.World
	open func(forge.Config) (forge.Forge, error)
}

func (w world) Open(t testing.TB, c forge.Config) forge.Forge {
	f, err := w.open(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCloud(t *testing.T) {
	forgetest.Run(t, func(t testing.TB) forgetest.World { return world{forgefake.Bitbucket(t), bitbucket.Open} },
		forgetest.Traits{Scope: "repository:write", NoReviewCommits: true, NoLabels: true})
}

func TestDataCenter(t *testing.T) {
	forgetest.Run(t, func(t testing.TB) forgetest.World { return world{forgefake.BitbucketServer(t), bitbucket.OpenServer} },
		forgetest.Traits{Scope: "REPO_WRITE", NoLabels: true})
}

func TestAddressesOfDataCenter(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example.com/projects/ACME/repos/infra":        "ACME/infra at git.example.com",
		"https://git.example.com/projects/ACME/repos/infra/browse": "ACME/infra at git.example.com",
		"https://git.example.com/scm/acme/infra.git":               "acme/infra at git.example.com",
		"https://git.example.com/bitbucket/scm/acme/infra.git":     "acme/infra at git.example.com",
		"ssh://git@git.example.com:7999/acme/infra.git":            "acme/infra at git.example.com",
		"https://git.example.com/a/b/c":                            "",
	} {
		f, err := bitbucket.OpenServer(forge.Config{Repository: address})
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if err == nil && f.React(t.Context(), 1, "1", forge.Seen).Error() != "react to a comment of "+want+": this forge does not have reactions in its API" {
			t.Errorf("%s: %v", address, f.React(t.Context(), 1, "1", forge.Seen))
		}
	}
}
