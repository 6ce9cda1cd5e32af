// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
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
	OwnNames = []string{"XDG_CONFIG_", "XDG_DATA_", "TF_REATTACH_PROVIDERS", "TF_PLUGIN_CACHE_"}
	OwnFiles = []string{".terraform", ".tofu", ".config/opentofu", ".config/terraform", ".local/share/opentofu", ".local/share/terraform"}
)

// Environment is what of a stack's environment the download of its providers needs.
func Environment(spec *run.Spec) []run.EnvVar {
	var env []run.EnvVar
	for _, e := range spec.Env {
		if HasAnyPrefix(strings.ToUpper(e.Name), fetchNames) && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e)
		}
	}
	slices.SortStableFunc(env, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}

// HasAnyPrefix reports whether a text begins with one of the prefixes.
func HasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// MaxUnderstood keeps the parser, which calls itself for every level of what it reads, within its stack.
const MaxUnderstood = 16 << 10

// Understood says whether a stack's own file leaves it to others where providers come from, or names registries and
// mirrors on a network only. Whatever is on the machine already needs no store, and what is under development no copy.
func Understood(config []byte) bool {
	if len(config) > MaxUnderstood {
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

// Origin is a directory that certain providers are taken from.
type Origin struct {
	Dir       string
	Providers []string
}

// filesystemMirrors writes the methods for places; empty ones are left out.
func filesystemMirrors(places []Origin) (blocks string, all []string) {
	for _, p := range places {
		if len(p.Providers) == 0 {
			continue
		}
		blocks += fmt.Sprintf("  filesystem_mirror {\n    path    = %s\n    include = [%s]\n  }\n", hclString(p.Dir), quotedList(p.Providers))
		all = append(all, p.Providers...)
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

// PlacedConfig is the tool's configuration for a run whose providers are in these places; others are looked for as ever. With
// all of them there, nobody else is asked.
func PlacedConfig(own []byte, places []Origin, complete bool) ([]byte, error) {
	blocks, all := filesystemMirrors(places)
	switch {
	case len(all) == 0:
		return CLIConfig("", own)
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
		places := []Origin(nil)
		if mirror != "" {
			places = []Origin{{Dir: mirror, Providers: []string{a.String()}}}
		}
		return mergeInstallation(bytes.TrimSpace(own), places, map[string]any{})
	}
	return withInstallation(own, first, "  direct {}\n", true)
}

// hclString quotes a text for HCL.
func hclString(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
