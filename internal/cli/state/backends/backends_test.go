// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func find(t *testing.T, kind string) Preset {
	t.Helper()
	p, err := Find(kind)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnUnknownBackendNamesTheKnownOnes(t *testing.T) {
	_, err := Find("consul")
	for _, word := range []string{`"consul"`, "yuba", "s3", "kubernetes", "cloud"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %s", err, word)
		}
	}
}

// TestEachPresetIsConfigured gives every preset what it requires and a setting from a Secret.
func TestEachPresetIsConfigured(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Presets {
		t.Run(p.Type, func(t *testing.T) {
			if seen[p.Type] || p.Short == "" {
				t.Errorf("there are two of it, or it is not described: %+v", p)
			}
			seen[p.Type] = true
			settings := map[string]string{}
			for _, name := range p.Required {
				name, _, _ = strings.Cut(name, "|")
				settings[name] = "v-" + name
			}
			got, err := p.Configure(settings, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Location != "" {
				t.Errorf("the location is invented: %s", got.Location)
			}
			if p.Type == Yuba || p.Type == "cloud" {
				if got.BackendConfig != nil || (got.Cloud != nil) != (p.Type == "cloud") {
					t.Errorf("%+v", got)
				}
				return
			}
			file, diags := hclsyntax.ParseConfig([]byte(got.BackendConfig.CustomConfiguration), "backend.tf", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatalf("%v\n%s", diags, got.BackendConfig.CustomConfiguration)
			}
			blocks := file.Body.(*hclsyntax.Body).Blocks
			if len(blocks) != 1 || blocks[0].Type != "backend" || blocks[0].Labels[0] != p.Type {
				t.Errorf("it is not a block of %s:\n%s", p.Type, got.BackendConfig.CustomConfiguration)
			}
			for _, value := range settings {
				if !strings.Contains(got.BackendConfig.CustomConfiguration, `"`+value+`"`) {
					t.Errorf("%s is missing:\n%s", value, got.BackendConfig.CustomConfiguration)
				}
			}
		})
	}
}

func TestMissingSettingsAreNamed(t *testing.T) {
	from := []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "states"}}
	for _, p := range Presets {
		for _, missing := range p.Required {
			settings := map[string]string{}
			for _, name := range p.Required {
				if name != missing {
					name, _, _ = strings.Cut(name, "|")
					settings[name] = "v"
				}
			}
			first, _, _ := strings.Cut(missing, "|")
			if _, err := p.Configure(settings, nil); err == nil || !strings.Contains(err.Error(), "--set "+first+"=VALUE") {
				t.Errorf("%s without %s: %v", p.Type, missing, err)
			}
			if p.Type == "cloud" {
				continue
			}
			// A Secret or ConfigMap may have it.
			got, err := p.Configure(settings, from)
			if err != nil {
				t.Errorf("%s with %s in a Secret: %v", p.Type, missing, err)
			} else if diff := cmp.Diff(from, got.BackendConfigsFrom); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// TestCredentialsAreRefusedAndNotRepeated: the message may end up in a terminal's log.
func TestCredentialsAreRefusedAndNotRepeated(t *testing.T) {
	const secret = "s3cr3t-v4lue"
	from := []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "states"}}
	for _, p := range Presets {
		for _, name := range p.Credentials {
			_, err := p.Configure(map[string]string{name: secret}, from)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--settings-from Secret/") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s with %s: %v", p.Type, name, err)
			}
		}
	}
}

func TestWhatABackendDoesNotHaveIsRefused(t *testing.T) {
	from := []infrav1.BackendConfigsReference{{Kind: "ConfigMap", Name: "states"}}
	whole := map[string]string{"organization": "o", "workspaces.name": "w"}
	for what, c := range map[string]struct {
		kind     string
		settings map[string]string
		from     []infrav1.BackendConfigsReference
		says     string
	}{
		"a setting of Yuba's store":     {Yuba, map[string]string{"path": "x"}, nil, "has no settings"},
		"a Secret for Yuba's store":     {Yuba, nil, from, "has no settings"},
		"a Secret for a cloud block":    {"cloud", whole, from, "TF_TOKEN_"},
		"a setting of another backend":  {"cloud", map[string]string{"organization": "o", "workspaces.name": "w", "bucket": "b"}, nil, "no setting bucket"},
		"an empty setting of a backend": {"s3", map[string]string{"bucket": "", "key": "k"}, nil, "needs the setting bucket"},
	} {
		if got, err := find(t, c.kind).Configure(c.settings, c.from); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v %v", what, got, err)
		}
	}
}

func TestBlocksAndObjectsAreRendered(t *testing.T) {
	for what, c := range map[string]struct {
		kind     string
		settings map[string]string
		want     string
	}{
		"texts, sorted": {"s3", map[string]string{"key": "k", "bucket": "b", "use_lockfile": "true"},
			"backend \"s3\" {\n  bucket       = \"b\"\n  key          = \"k\"\n  use_lockfile = \"true\"\n}\n"},
		"an object": {"s3", map[string]string{"key": "k", "bucket": "b", "endpoints.s3": "http://s3", "endpoints.sts": "http://sts"},
			"backend \"s3\" {\n  bucket = \"b\"\n  key    = \"k\"\n  endpoints = {\n    s3  = \"http://s3\"\n    sts = \"http://sts\"\n  }\n}\n"},
		"a block with a prefix": {"remote", map[string]string{"organization": "o", "workspaces.prefix": "net-"},
			"backend \"remote\" {\n  organization = \"o\"\n  workspaces {\n    prefix = \"net-\"\n  }\n}\n"},
		"a block": {"remote", map[string]string{"organization": "o", "workspaces.name": "w"},
			"backend \"remote\" {\n  organization = \"o\"\n  workspaces {\n    name = \"w\"\n  }\n}\n"},
		"text that HCL would evaluate": {"http", map[string]string{"address": "http://a/${path.root}?x=\"%{if}\"\n}"},
			"backend \"http\" {\n  address = \"http://a/$${path.root}?x=\\\"%%{if}\\\"\\n}\"\n}\n"},
	} {
		got, err := find(t, c.kind).Configure(c.settings, nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if diff := cmp.Diff(c.want, got.BackendConfig.CustomConfiguration); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestACloudBlockIsFieldsOfTheSpec(t *testing.T) {
	got, err := find(t, "cloud").Configure(map[string]string{"organization": "o", "hostname": "tfe.example.org", "workspaces.name": "w"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &infrav1.BackendStatus{Cloud: &infrav1.CloudSpec{Organization: "o", Hostname: "tfe.example.org", Workspaces: &infrav1.CloudWorkspacesSpec{Name: "w"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = find(t, "cloud").Configure(map[string]string{"organization": "o", "workspaces.tags": "net,prod"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&infrav1.CloudWorkspacesSpec{Tags: []string{"net", "prod"}}, got.Cloud.Workspaces); diff != "" {
		t.Error(diff)
	}
}
