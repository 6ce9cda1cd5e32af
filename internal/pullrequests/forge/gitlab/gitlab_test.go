// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitlab_test

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/gitlab"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// world opens connections with this package.
type world struct{ *forgefake.World }

func (world) Open(t testing.TB, c forge.Config) forge.Forge {
	f, err := gitlab.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	forgetest.Run(t, func(t testing.TB) forgetest.World { return world{forgefake.GitLab(t)} }, forgetest.Traits{Scope: "api", NoRejections: true})
}
