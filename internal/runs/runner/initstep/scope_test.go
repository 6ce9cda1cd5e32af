// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// A download continues for others after the run that began it, and may then fail.
func TestADownloadNeedsNothingOfTheRunThatBeganIt(t *testing.T) {
	r := execution.New(&execution.Equipment{Opts: execution.Options{Sandbox: "/bin/false"}, Walls: confinement.Walls{Sandbox: "/bin/false"}}, t.TempDir(), "one", "")
	at := execution.NewSite(r)
	r.Mask, at.Space = r.Spec.KnownSecrets().Masker(mask.Mark), &workspace.Workspace{Tool: tools.Tool{Name: "tofu", Path: "/bin/tofu", Version: "1.12.6"}}
	fetch := (&downloads{run: r, site: at}).fetcher().Provider
	at.Space = nil
	err := fetch(t.Context(), t.TempDir(), "", providers.Address{Host: "example.com", Namespace: "acme", Type: "thing"})
	if err == nil || !strings.Contains(err.Error(), "tofu init: ") {
		t.Errorf("%v", err)
	}
}

func TestWhichStacksShareProviders(t *testing.T) {
	store, err := providers.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := func(name, value string) run.Spec { return run.Spec{Env: []run.EnvVar{{Name: name, Value: value}}} }
	config := func(text string) run.Spec { return run.Spec{CLIConfig: []byte(text)} }
	home := func(path string) run.Spec {
		return run.Spec{Files: []run.File{{Location: run.FileInHome, Path: path}}}
	}
	const (
		all   = "shared"
		alike = "own-"
		alone = ""
	)
	for sentence, c := range map[string]struct {
		spec run.Spec
		want string
	}{
		"nothing of its own":                      {run.Spec{}, all},
		"a provider's credentials":                {env("AWS_ACCESS_KEY_ID", "x"), all},
		"a variable":                              {env("TF_VAR_x", "1"), all},
		"a key for ssh":                           {home(".ssh/id_ed25519"), all},
		"a registry's token":                      {env("TF_TOKEN_registry_example_com", "x"), alike},
		"a proxy":                                 {env("https_proxy", "http://proxy:3128"), alike},
		"other authorities":                       {env("SSL_CERT_FILE", "/etc/ssl/corp.pem"), alike},
		"authorities in its own directory":        {env("SSL_CERT_FILE", "/data/work/team/x/home/ca.pem"), alone},
		"authorities somewhere":                   {env("SSL_CERT_DIR", "certs"), alone},
		"authorities in its home":                 {env("SSL_CERT_FILE", "/home/runner/ca.pem"), alone}, // without a home here
		"how strict the tool is":                  {env("OPENTOFU_ENFORCE_GPG_VALIDATION", "true"), alike},
		"a cache of its own":                      {env("TF_PLUGIN_CACHE_DIR", "/tmp/x"), alone},
		"arguments for init":                      {env("TF_CLI_ARGS_init", "-plugin-dir=x"), alone},
		"arguments for a plan":                    {env("TF_CLI_ARGS_plan", "-parallelism=30"), all},
		"credentials of a container engine":       {home(".docker/config.json"), all},
		"credentials of the tool":                 {home(".terraform.d/credentials.tfrc.json"), alone},
		"a configuration with credentials":        {config("credentials \"a.example\" {\n  token = \"x\"\n}\n"), alike},
		"a configuration in JSON":                 {config(`{"credentials": {"a.example": {"token": "x"}}}`), alike},
		"an installation in JSON":                 {config(`{"provider_installation": [{"direct": [{}]}]}`), alone},
		"an installation in JSON, hidden":         {config(`{"provider\u005finstallation": [{"direct": [{}]}]}`), alone},
		"a network mirror":                        {config("provider_installation {\n  network_mirror {\n    url = \"https://m.example/\"\n  }\n  direct {\n    exclude = [\"a/b\"]\n  }\n}\n"), alike},
		"a filesystem mirror":                     {config("provider_installation {\n  filesystem_mirror {\n    path = \"/m\"\n  }\n}\n"), alone},
		"an OCI mirror":                           {config("provider_installation {\n  oci_mirror {\n    repository_template = \"x/${type}\"\n    include = [\"a/*/*\"]\n  }\n}\n"), alone},
		"a provider under development":            {config("provider_installation {\n  dev_overrides {\n    \"a/b\" = \"/x\"\n  }\n  direct {}\n}\n"), alone},
		"a cache in the configuration":            {config("plugin_cache_dir = \"/x\"\n"), alone},
		"two installations":                       {config("provider_installation {\n  direct {}\n}\nprovider_installation {\n  direct {}\n}\n"), alone},
		"a mistake":                               {config("provider_installation {"), alone},
		"more than any configuration":             {config(strings.Repeat("# x\n", fetch.MaxUnderstood)), alone},
		"so many brackets that the parser starts": {config("a = " + strings.Repeat("(", fetch.MaxUnderstood-4)), alone},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := execution.New(&execution.Equipment{Store: store, Opts: execution.Options{WorkRoot: "/data/work"}}, "", "one", "")
			r.Spec = c.spec
			got := ""
			if scope := (&downloads{run: r, site: execution.NewSite(r)}).providerScope(); scope != nil {
				got = scope.Name
			}
			if c.want == alike && (!strings.HasPrefix(got, alike) || len(got) != len(alike)+16) || c.want != alike && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	r := execution.New(&execution.Equipment{}, "", "one", "")
	if scope := (&downloads{run: r, site: execution.NewSite(r)}).providerScope(); scope != nil {
		t.Errorf("without a store: %+v", scope)
	}
}
