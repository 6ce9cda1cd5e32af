// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
)

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
		"authorities in its home":                 {env("SSL_CERT_FILE", "/home/runner/ca.pem"), alone}, // there is none here
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
			r := newTask(&equipment{store: store, opts: Options{WorkRoot: "/data/work"}}, "", "one", "")
			r.spec = c.spec
			got := ""
			if scope := (&downloads{task: r, site: newSite(r)}).providerScope(); scope != nil {
				got = scope.Name
			}
			if c.want == alike && (!strings.HasPrefix(got, alike) || len(got) != len(alike)+16) || c.want != alike && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	r := newTask(&equipment{}, "", "one", "")
	if scope := (&downloads{task: r, site: newSite(r)}).providerScope(); scope != nil {
		t.Errorf("without a store: %+v", scope)
	}
}

// Providers that the source brings with it are the tool's to find, as without a store.
func TestProvidersThatTheSourceBringsAreUsed(t *testing.T) {
	b := newStoreBench(t)
	b.start()
	files := b.program("registry.example.com/yuba/dummy", "1.2.3")
	for name, content := range bundled(t) {
		files["terraform.d/plugins/"+name] = content
	}
	r := b.stack("bundled", run.OperationPlan, files)
	b.installed(r)
	if list, err := providers.List(b.opts.ProviderStore); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// bundled is a directory of providers as the tool looks for them.
func bundled(t *testing.T) map[string]string {
	mirror := mirrorWith(t, "dummy", "1.2.3")
	files := map[string]string{}
	err := filepath.Walk(mirror, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(mirror, path)
		files[relative] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFullDiskIsSaidAndDoesNoHarm(t *testing.T) {
	b := newStoreBench(t)
	small(t, "2m", b.opts.ProviderStore)
	large := registryProgram("large", "1.0.0", 8<<20)
	b.registry.Publish("acme/large", "1.0.0", large)
	b.publish("1.2.3")
	b.start()
	result := b.do(b.trusting(b.stack("large", run.OperationPlan, b.program(b.registry.Source("acme/large"), "1.0.0"))))
	if result.FailedStep != run.StepInit || result.Class != run.FailureDisk || !strings.Contains(result.Error, "no space left on device") {
		t.Errorf("%+v", result)
	}
	b.installed(b.wants("small", "1.2.3"))
	if list, err := providers.List(b.opts.ProviderStore); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

// registryProgram is a package of some size that no compression makes smaller.
func registryProgram(name, version string, size int) map[string][]byte {
	content := make([]byte, size)
	_, _ = rand.Read(content) // it never fails
	return map[string][]byte{"terraform-provider-" + name + "_v" + version: content}
}
