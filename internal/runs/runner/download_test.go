// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// A download goes on for others when the run that began it is over, and may fail then.
func TestADownloadNeedsNothingOfTheRunThatBeganIt(t *testing.T) {
	r := newTask(&equipment{opts: Options{Sandbox: "/bin/false"}, walls: confinement.Walls{Sandbox: "/bin/false"}}, t.TempDir(), "one", "")
	at := newSite(r)
	r.mask, at.space = r.spec.KnownSecrets().Masker(mask.Mark), &workspace.Workspace{Tool: tools.Tool{Name: "tofu", Path: "/bin/tofu", Version: "1.12.6"}}
	fetch := (&downloads{task: r, site: at}).fetcher().Provider
	at.space = nil
	err := fetch(t.Context(), t.TempDir(), "", providers.Address{Host: "example.com", Namespace: "acme", Type: "thing"})
	if err == nil || !strings.Contains(err.Error(), "tofu init: ") {
		t.Errorf("%v", err)
	}
}
