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

// fetchNames are prefixes of the variables that affect downloads: registry credentials, proxies,
// certificates, verification. Downloads do not get the others.
var fetchNames = []string{"TF_TOKEN_", "OPENTOFU_", "TOFU_", "TF_REGISTRY_", "TF_PROVIDER_DOWNLOAD_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}

// OwnNames and OwnFiles may contain credentials or providers that only the stack's own directory
// has, or change the installation. They are left to the tool.
var (
	OwnNames = []string{"XDG_CONFIG_", "XDG_DATA_", "TF_REATTACH_PROVIDERS", "TF_PLUGIN_CACHE_"}
	OwnFiles = []string{".terraform", ".tofu", ".config/opentofu", ".config/terraform", ".local/share/opentofu", ".local/share/terraform"}
)

// Environment is the part of a stack's environment that provider downloads need.
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

// HasAnyPrefix reports whether s begins with one of the prefixes.
func HasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// MaxUnderstood limits the recursion of the parser.
const MaxUnderstood = 16 << 10

// Understood reports whether a CLI configuration installs providers, if at all, from a network
// only. Local ones need no store.
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

// Origin is a directory with certain providers.
type Origin struct {
	Dir       string
	Providers []string
}

// filesystemMirrors writes a block for each place that is not empty.
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

// PlacedConfig returns the CLI configuration for providers in these places. If complete, the
// stack's own installation methods are dropped.
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

// withInstallation inserts installation methods before the stack's own ones, which keepOwn keeps,
// or else before otherwise.
func withInstallation(own []byte, first, otherwise string, keepOwn bool) ([]byte, error) {
	if len(own) == 0 {
		return []byte("disable_checkpoint = true\nprovider_installation {\n" + first + otherwise + "}\n"), nil
	}
	file, diags := hclwrite.ParseConfig(own, workspace.CLIConfigName, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fault.New(run.FailureConfiguration, "read the tool's configuration file: it is not valid HCL")
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

// fetchConfig is the CLI configuration for a download, which prefers the mirror, if any.
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

// hclString quotes a string for HCL.
func hclString(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
