// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Credentials finds tokens where tofu finds them: in TF_TOKEN_… variables, then in its configuration
// files and in the file that "tofu login" writes. Credential helpers are not started.
type Credentials struct {
	// Lookup reads a variable of the environment; Home is the user's home directory.
	Lookup func(name string) (string, bool)
	Home   string
}

// Token returns the token for a host and where it was found; both are empty if there is none.
func (c Credentials) Token(host string) (token, from string, err error) {
	host = comparable(host)
	for _, name := range variables(host) {
		if token, _ := c.Lookup(name); token != "" {
			return token, "the variable " + name, nil
		}
	}
	for _, path := range c.files() {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("read the credentials for %s: %w", host, err)
		}
		tokens, err := parseTokens(text, path)
		if err != nil {
			return "", "", fmt.Errorf("read the credentials for %s: %w", host, err)
		}
		if token := tokens[host]; token != "" {
			return token, path, nil
		}
	}
	return "", "", nil
}

// comparable is a host as tofu compares it: in lower case, and without the port of HTTPS.
func comparable(host string) string { return strings.TrimSuffix(strings.ToLower(host), ":443") }

// variables are the names that may hold the token for a host. Shells do not accept dots and dashes in
// names, so "_" stands for a dot and "__" for a dash; but tofu accepts the plain ones, too.
func variables(host string) []string {
	dots := strings.ReplaceAll(host, ".", "_")
	return slices.Compact([]string{"TF_TOKEN_" + strings.ReplaceAll(dots, "-", "__"), "TF_TOKEN_" + dots, "TF_TOKEN_" + host})
}

// files are the configuration files in which tofu looks, those that win first.
func (c Credentials) files() []string {
	if path, _ := c.Lookup("TF_CLI_CONFIG_FILE"); path != "" {
		return []string{path}
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	main, dir := filepath.Join(c.Home, ".tofurc"), filepath.Join(c.Home, ".terraform.d")
	old := filepath.Join(c.Home, ".terraformrc")
	xdg, _ := c.Lookup("XDG_CONFIG_HOME")
	switch {
	case exists(main):
	case exists(old):
		main = old
	case xdg != "":
		main = filepath.Join(xdg, "opentofu", "tofurc")
	}
	if xdg != "" && !exists(dir) {
		dir = filepath.Join(xdg, "opentofu")
	}
	var found []string
	for _, pattern := range []string{"*.tfrc", "*.tfrc.json"} {
		some, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is valid
		found = append(found, some...)
	}
	slices.Sort(found)
	slices.Reverse(found) // a later file wins
	return append(found, main)
}

// parseTokens returns the tokens in a configuration file by host. Everything else in it is ignored.
func parseTokens(text []byte, path string) (map[string]string, error) {
	tokens := map[string]string{}
	if strings.HasSuffix(path, ".json") {
		var file struct {
			Credentials map[string]struct {
				Token string `json:"token"`
			} `json:"credentials"`
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for host, c := range file.Credentials {
			tokens[comparable(host)] = c.Token
		}
		return tokens, nil
	}
	file, problems := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, problems
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "credentials", LabelNames: []string{"host"}}}})
	for _, block := range content.Blocks {
		attributes, problems := block.Body.JustAttributes()
		if problems.HasErrors() {
			return nil, problems
		}
		if token := attributes["token"]; token != nil {
			value, problems := token.Expr.Value(nil)
			if problems.HasErrors() || value.IsNull() || !value.IsKnown() || value.Type().FriendlyName() != "string" {
				return nil, fmt.Errorf("%s: the token of %s is not a string", token.Range, block.Labels[0])
			}
			tokens[comparable(block.Labels[0])] = value.AsString()
		}
	}
	return tokens, nil
}
