// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// CLIConfig makes tofu install mirrored providers from the mirror only, without a network. It keeps
// a stack's own file; if that configures provider installation, it omits the mirror.
func CLIConfig(mirror string, own []byte) ([]byte, error) {
	mirrored, err := providers.Mirrored(mirror)
	if err != nil {
		return nil, err
	}
	places := []Origin{{mirror, mirrored}}
	switch {
	case isJSON(own):
		return mergeJSON(bytes.TrimSpace(own), places)
	case len(own) == 0 && len(mirrored) == 0:
		return []byte("disable_checkpoint = true\n"), nil
	case len(mirrored) == 0 || InstallsProviders(own):
		return own, nil
	}
	blocks, all := filesystemMirrors(places)
	block := fmt.Sprintf("provider_installation {\n%s  direct {\n    exclude = [%s]\n  }\n}\n", blocks, quotedList(all))
	if len(own) == 0 {
		return []byte("disable_checkpoint = true\n" + block), nil
	}
	return slices.Concat(own, []byte("\n"+block)), nil
}

// mergeJSON adds an installation to a JSON file that has none.
func mergeJSON(own []byte, places []Origin) ([]byte, error) {
	_, all := filesystemMirrors(places)
	return mergeInstallation(own, places, map[string]any{"exclude": all})
}

func mergeInstallation(own []byte, places []Origin, direct map[string]any) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(own, &object); err != nil {
		return nil, fault.New(run.FailureConfiguration, "read the tool's configuration file: it is not valid JSON")
	}
	// The tool requires a list of blocks.
	var mirrors []any
	for _, p := range places {
		if len(p.Providers) > 0 {
			mirrors = append(mirrors, map[string]any{"path": p.Dir, "include": p.Providers})
		}
	}
	if object["provider_installation"] != nil || len(mirrors) == 0 {
		return own, nil
	}
	object["provider_installation"] = []any{map[string]any{"filesystem_mirror": mirrors, "direct": []any{direct}}}
	return json.Marshal(object)
}

// InstallsProviders reports whether a file has a top-level block provider_installation.
func InstallsProviders(config []byte) bool {
	tokens, _ := hclsyntax.LexConfig(config, workspace.CLIConfigName, hcl.InitialPos) // the tool reports errors
	depth := 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack:
			depth--
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
			if depth == 0 && string(token.Bytes) == "provider_installation" {
				return true
			}
		}
	}
	return false
}

// SettingsHCL writes backend settings as a file for init.
func SettingsHCL(settings map[string]string) []byte {
	file := hclwrite.NewEmptyFile()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		file.Body().SetAttributeValue(name, cty.StringVal(settings[name]))
	}
	return file.Bytes()
}
