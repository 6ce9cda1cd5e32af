// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/run"
)

// cliConfigName is beside, not in, what tofu can write.
const cliConfigName = "tofu.rc"

// cliConfig makes tofu look for providers in the mirror first. A provider that is there is looked for nowhere else, so
// that it installs without a network. A stack's own file is kept as it is; where it says how providers are installed,
// that counts and the mirror is left out.
func cliConfig(mirror string, own []byte) ([]byte, error) {
	providers, err := mirrored(mirror)
	if err != nil {
		return nil, err
	}
	if len(own) > 0 {
		return mergeConfig(own, mirror, providers)
	}
	return append([]byte("disable_checkpoint = true\n"), installation(mirror, providers)...), nil
}

// installation is the block on where providers come from; empty without a mirror.
func installation(mirror string, providers []string) []byte {
	if len(providers) == 0 {
		return nil
	}
	quoted := make([]string, len(providers))
	for i, p := range providers {
		quoted[i] = hclString(p)
	}
	list := strings.Join(quoted, ", ")
	return fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path    = %s\n    include = [%s]\n  }\n  direct {\n    exclude = [%s]\n  }\n}\n",
		hclString(mirror), list, list)
}

func mergeConfig(own []byte, mirror string, providers []string) ([]byte, error) {
	if trimmed := bytes.TrimSpace(own); len(trimmed) > 0 && trimmed[0] == '{' {
		return mergeJSON(trimmed, mirror, providers)
	}
	if len(providers) == 0 || installsProviders(own) {
		return own, nil
	}
	return slices.Concat(own, []byte("\n"), installation(mirror, providers)), nil
}

// mergeJSON is for files in JSON, which the tool takes, too.
func mergeJSON(own []byte, mirror string, providers []string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(own, &object); err != nil {
		return nil, failed(run.FailureConfiguration, "read the tool's configuration file: it begins as JSON and is none")
	}
	if object["provider_installation"] != nil || len(providers) == 0 {
		return own, nil
	}
	// The tool takes a block for one only as the item of a list.
	object["provider_installation"] = []any{map[string]any{
		"filesystem_mirror": []any{map[string]any{"path": mirror, "include": providers}},
		"direct":            []any{map[string]any{"exclude": providers}},
	}}
	return json.Marshal(object)
}

// installsProviders looks for a block provider_installation outside of all others. Comments and texts do not count.
func installsProviders(config []byte) bool {
	tokens, _ := hclsyntax.LexConfig(config, cliConfigName, hcl.InitialPos) // what cannot be read the tool complains about
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

// settingsHCL writes settings of the backend as a file that init takes.
func settingsHCL(settings map[string]string) []byte {
	file := hclwrite.NewEmptyFile()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		file.Body().SetAttributeValue(name, cty.StringVal(settings[name]))
	}
	return file.Bytes()
}
