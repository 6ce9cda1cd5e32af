// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// tokenPrefix begins the variables with tokens of registries.
const tokenPrefix = "TF_TOKEN_"

// tokenBlocks are the blocks of tofu's configuration that have or bring tokens.
var tokenBlocks = []string{"credentials", "credentials_helper"}

// mayKnowTokens reports whether a call gets the tokens of registries. Providers inherit what tofu has, so a
// call that runs them only does for a backend that needs it.
func (d *Desk) mayKnowTokens(c Call) bool { return c.Installs || d.Tokens }

// environ is the environment of a call.
func (d *Desk) environ(c Call) []string {
	tokens := d.mayKnowTokens(c)
	env := slices.DeleteFunc(slices.Clone(d.env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !tokens && strings.HasPrefix(name, tokenPrefix) && (d.Passes == nil || !d.Passes(name))
	})
	return append(env, "TF_CLI_CONFIG_FILE="+d.config(tokens))
}

// config is the path of tofu's configuration, with tokens or without.
func (d *Desk) config(tokens bool) string {
	if tokens {
		return filepath.Join(d.guarded, "yuba.tofurc")
	}
	return filepath.Join(d.home(), "yuba.tofurc")
}

// withoutTokens is a configuration without what has tokens. One that cannot be read is left out: tofu reports
// its mistakes at init, which has all of it.
func withoutTokens(config []byte) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(config), []byte("{")) {
		var object map[string]any
		if json.Unmarshal(config, &object) != nil {
			return nil
		}
		for _, name := range tokenBlocks {
			delete(object, name)
		}
		text, _ := json.Marshal(object) //nolint:errcheck,errchkjson // it was JSON
		return text
	}
	file, problems := hclwrite.ParseConfig(config, "yuba.tofurc", hcl.InitialPos)
	if problems.HasErrors() {
		return nil
	}
	for _, name := range tokenBlocks {
		file.Body().RemoveAttribute(name)
	}
	for _, block := range file.Body().Blocks() {
		if slices.Contains(tokenBlocks, block.Type()) {
			file.Body().RemoveBlock(block)
		}
	}
	return file.Bytes()
}
