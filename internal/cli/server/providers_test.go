// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestProvidersAreListed(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	list := content.ProviderList{Items: []run.StoredProvider{
		{Source: "registry.opentofu.org/hashicorp/aws", Version: "6.21.0", Size: 763_150_000, Users: 214, Used: noon.Add(-3 * time.Minute), Scope: "shared"},
		{Source: "registry.example.com/acme/thing", Version: "1.0.0", Size: 900_000, Used: noon.Add(-72 * time.Hour), Scope: "own-0123456789abcdef"},
	}}
	want := &listing.List{Answer: list, None: "The provider store is empty.", Sum: "764.0 MB in total.",
		Names: []string{"registry.opentofu.org/hashicorp/aws 6.21.0", "registry.example.com/acme/thing 1.0.0"},
		Rows: [][]string{{"PROVIDER", "VERSION", "SIZE", "STACKS", "USED", "SCOPE"},
			{"hashicorp/aws", "6.21.0", "763.1 MB", "214", "3m ago", "shared"},
			{"registry.example.com/acme/thing", "1.0.0", "0.9 MB", "0", "3d ago", "own-0123456789abcdef"}}}
	if diff := cmp.Diff(want, listedProviders(list, noon), cmp.AllowUnexported(listing.List{})); diff != "" {
		t.Error(diff)
	}
}
