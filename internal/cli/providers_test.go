// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestProvidersAreListed(t *testing.T) {
	list := content.ProviderList{Items: []run.StoredProvider{
		{Source: "registry.opentofu.org/hashicorp/aws", Version: "6.21.0", Size: 763_150_000, Users: 214, Used: noon.Add(-3 * time.Minute), Scope: "shared"},
		{Source: "registry.example.com/acme/thing", Version: "1.0.0", Size: 900_000, Used: noon.Add(-72 * time.Hour), Scope: "own-0123456789abcdef"},
	}}
	for form, want := range map[string]string{
		"": "PROVIDER                          VERSION   SIZE       STACKS   USED     SCOPE\n" +
			"hashicorp/aws                     6.21.0    763.1 MB   214      3m ago   shared\n" +
			"registry.example.com/acme/thing   1.0.0     0.9 MB     0        3d ago   own-0123456789abcdef\n",
		"name": "registry.opentofu.org/hashicorp/aws 6.21.0\nregistry.example.com/acme/thing 1.0.0\n",
	} {
		var out, news bytes.Buffer
		s := &session{app: &app{out: &out, err: &news}}
		if err := listedProviders(list, noon).show(s, &output{form: form}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%q: %s", form, diff)
		}
	}
}
