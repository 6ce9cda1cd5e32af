// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github_test

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/github"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// world opens connections with this package.
type world struct{ *forgefake.World }

func (world) Open(t testing.TB, c forge.Config) forge.Forge {
	f, err := github.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	forgetest.Run(t, func(t testing.TB) forgetest.World { return world{forgefake.GitHub(t)} }, forgetest.Traits{Scope: "repo or repo:status"})
}
