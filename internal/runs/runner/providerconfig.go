// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// fetchNames begin the names of the environment that have to do with where providers come from and who is trusted there:
// credentials of registries, proxies, certificates, how strict the tool is. The rest is for providers at work, and does not
// reach the process that downloads them.
var fetchNames = []string{"TF_TOKEN_", "OPENTOFU_", "TOFU_", "TF_REGISTRY_", "TF_PROVIDER_DOWNLOAD_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}

// ownNames and ownFiles are settings and files of the tool's own that are left to it: it may find credentials or whole
// providers by them, in places that only the stack's own directory has, or be told to install in another way.
var (
	ownNames = []string{"XDG_CONFIG_", "XDG_DATA_", "TF_REATTACH_PROVIDERS", "TF_PLUGIN_CACHE_"}
	ownFiles = []string{".terraform", ".tofu", ".config/opentofu", ".config/terraform", ".local/share/opentofu", ".local/share/terraform"}
)

// fetchEnvironment is what of a stack's environment the download of its providers needs.
func fetchEnvironment(spec *run.Spec) []run.EnvVar {
	var env []run.EnvVar
	for _, e := range spec.Env {
		if hasPrefix(strings.ToUpper(e.Name), fetchNames) && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e)
		}
	}
	slices.SortStableFunc(env, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// scoped is what was chosen for a run's downloads of providers, once: what the program does to its files counts no more.
type scoped struct {
	chosen bool
	scope  *providers.Scope
	// why says why the stack does without the store; empty when it does not.
	why string
	// env and authorities are what of the stack's environment a download gets.
	env         []run.EnvVar
	authorities []authority
}

// providerScope is the part of the store that the run's providers come from and go to; nil without a store, or when the
// stack has the tool look in places of its own.
func (d *downloads) providerScope() *providers.Scope {
	if d.task.store == nil {
		return nil
	}
	if !d.scoped.chosen {
		d.scoped = d.chooseScope()
	}
	return d.scoped.scope
}

func (d *downloads) chooseScope() scoped {
	s := scoped{chosen: true}
	if s.why = d.installsElsewhere(); s.why != "" {
		return s
	}
	if s.env, s.authorities, s.why = d.takeAuthorities(fetchEnvironment(&d.task.spec)); s.why != "" {
		return s
	}
	if len(d.task.spec.CLIConfig) == 0 && len(s.env) == 0 && len(s.authorities) == 0 {
		s.scope = d.task.store.Scope("")
		return s
	}
	if !understood(d.task.spec.CLIConfig) {
		s.why = "the stack's own configuration of the tool says where providers are installed from"
		return s
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%d:%s", len(d.task.spec.CLIConfig), d.task.spec.CLIConfig)
	for _, e := range s.env {
		fmt.Fprintf(hash, "%d:%s=%d:%s", len(e.Name), e.Name, len(e.Value), e.Value)
	}
	if len(s.authorities) > 0 {
		hash.Write(mustJSON(s.authorities))
	}
	s.scope = d.task.store.Scope(hex.EncodeToString(hash.Sum(nil)))
	return s
}

// installsElsewhere says what has the tool look for providers in places of the stack's own; empty for nothing.
func (d *downloads) installsElsewhere() string {
	for _, e := range d.task.spec.Env {
		if hasPrefix(e.Name, ownNames) || e.Name == "TF_CLI_ARGS" || e.Name == "TF_CLI_ARGS_init" {
			return "the environment has " + e.Name
		}
	}
	for _, f := range d.task.spec.Files {
		if f.Location == run.FileInHome && hasPrefix(f.Path, ownFiles) {
			return "the home directory has " + f.Path
		}
	}
	return ""
}

// maxUnderstood keeps the parser, which calls itself for every level of what it reads, within its stack.
const maxUnderstood = 16 << 10

// understood says whether a stack's own file leaves it to others where providers come from, or names registries and
// mirrors on a network only. Whatever is on the machine already needs no store, and what is under development no copy.
func understood(config []byte) bool {
	if len(config) > maxUnderstood {
		return false
	}
	if isJSON(config) {
		return !bytes.Contains(config, []byte("provider_installation")) && !bytes.Contains(config, []byte(`\u`))
	}
	parsed, diags := hclsyntax.ParseConfig(config, workspace.CLIConfigName, hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok || body.Attributes["provider_installation"] != nil || body.Attributes["plugin_cache_dir"] != nil {
		return false
	}
	found := 0
	for _, block := range body.Blocks {
		if block.Type != "provider_installation" {
			continue
		}
		if found++; found > 1 || len(block.Body.Attributes) > 0 || len(block.Body.Blocks) == 0 {
			return false
		}
		for _, method := range block.Body.Blocks {
			if method.Type != "network_mirror" && method.Type != "direct" {
				return false
			}
		}
	}
	return true
}

func isJSON(config []byte) bool {
	trimmed := bytes.TrimSpace(config)
	return len(trimmed) > 0 && trimmed[0] == '{'
}

// origin is a directory that certain providers are taken from.
type origin struct {
	dir       string
	providers []string
}

// filesystemMirrors writes the methods for places; empty ones are left out.
func filesystemMirrors(places []origin) (blocks string, all []string) {
	for _, p := range places {
		if len(p.providers) == 0 {
			continue
		}
		blocks += fmt.Sprintf("  filesystem_mirror {\n    path    = %s\n    include = [%s]\n  }\n", hclString(p.dir), quotedList(p.providers))
		all = append(all, p.providers...)
	}
	return blocks, all
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = hclString(n)
	}
	return strings.Join(quoted, ", ")
}

// placedConfig is the tool's configuration for a run whose providers are in these places; others are looked for as ever. With
// all of them there, nobody else is asked.
func placedConfig(own []byte, places []origin, complete bool) ([]byte, error) {
	blocks, all := filesystemMirrors(places)
	switch {
	case len(all) == 0:
		return cliConfig("", own)
	case isJSON(own):
		return mergeJSON(bytes.TrimSpace(own), places)
	}
	rest := fmt.Sprintf("  direct {\n    exclude = [%s]\n  }\n", quotedList(all))
	return withInstallation(own, blocks, rest, !complete)
}

// withInstallation puts methods of installation before those of a stack's own file, which may also go, or before what is to
// be done without such.
func withInstallation(own []byte, first, otherwise string, keepOwn bool) ([]byte, error) {
	if len(own) == 0 {
		return []byte("disable_checkpoint = true\nprovider_installation {\n" + first + otherwise + "}\n"), nil
	}
	file, diags := hclwrite.ParseConfig(own, workspace.CLIConfigName, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fault.New(run.FailureConfiguration, "read the tool's configuration file: it is not as the tool expects it")
	}
	for _, block := range file.Body().Blocks() {
		if block.Type() == "provider_installation" {
			if otherwise = ""; keepOwn {
				otherwise = string(block.Body().BuildTokens(nil).Bytes())
			}
			file.Body().RemoveBlock(block)
		}
	}
	return fmt.Appendf(file.Bytes(), "\nprovider_installation {\n%s%s}\n", first, otherwise), nil
}

// fetchConfig is the tool's configuration for a download: it takes what is in the mirror, if any, and knows what others
// have as well.
func fetchConfig(own []byte, mirror string, a providers.Address) ([]byte, error) {
	first := ""
	if mirror != "" {
		first = fmt.Sprintf("  filesystem_mirror {\n    path    = %s\n    include = [%s]\n  }\n", hclString(mirror), hclString(a.String()))
	}
	if isJSON(own) {
		places := []origin(nil)
		if mirror != "" {
			places = []origin{{dir: mirror, providers: []string{a.String()}}}
		}
		return mergeFetchJSON(bytes.TrimSpace(own), places)
	}
	return withInstallation(own, first, "  direct {}\n", true)
}
