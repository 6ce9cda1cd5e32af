// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// FileName is the name of the file in a module's directory.
const FileName = "boring-registry.hcl"

// maxSize limits the file, which has four lines.
const maxSize = 64 << 10

// Found is a module's directory with its name and version.
type Found struct {
	Dir     string
	Version layout.ModuleVersion
}

// Read reads the file of a directory. The error wraps [fs.ErrNotExist] if there is none. version
// replaces the file's, if it is not empty.
func Read(dir, version string) (Found, error) {
	path := filepath.Join(dir, FileName)
	file, err := os.Open(path)
	if err != nil {
		return Found{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return Found{}, fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > maxSize {
		return Found{}, fmt.Errorf("read %s: it has more than %d bytes", path, maxSize)
	}
	v, err := parse(text, path, version)
	return Found{Dir: dir, Version: v}, err
}

func parse(text []byte, path, version string) (layout.ModuleVersion, error) {
	fail := func(err error) (layout.ModuleVersion, error) {
		return layout.ModuleVersion{}, fmt.Errorf("read %s: %w", path, err)
	}
	file, diags := hclsyntax.ParseConfig(text, filepath.Base(path), hcl.InitialPos)
	if diags.HasErrors() {
		return fail(diags)
	}
	var body *hclsyntax.Body
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type != "metadata" || body != nil {
			return fail(fmt.Errorf("line %d: expected one block named metadata", block.TypeRange.Start.Line))
		}
		body = block.Body
	}
	if body == nil {
		return fail(errors.New(`it has no block "metadata"`))
	}
	values := map[string]string{}
	for _, name := range []string{"namespace", "name", "provider", "version"} {
		value, err := literal(body, name)
		if err != nil && (name != "version" || version == "") {
			return fail(err)
		}
		values[name] = value
	}
	if version != "" {
		values["version"] = version
	}
	v, err := layout.ParseModuleVersion(values["namespace"] + "/" + values["name"] + "/" + values["provider"] + "@" + strings.TrimPrefix(values["version"], "v"))
	if err != nil {
		return fail(err)
	}
	return v, nil
}

// literal returns an attribute that is a plain string.
func literal(body *hclsyntax.Body, name string) (string, error) {
	attribute := body.Attributes[name]
	if attribute == nil {
		return "", fmt.Errorf("the block metadata lacks %q", name)
	}
	template, ok := attribute.Expr.(*hclsyntax.TemplateExpr)
	if !ok || !template.IsStringLiteral() {
		return "", fmt.Errorf("line %d: %s must be a text in quotes", attribute.SrcRange.Start.Line, name)
	}
	value, diags := template.Value(nil)
	if diags.HasErrors() {
		return "", diags
	}
	return value.AsString(), nil
}

// Find returns the directories below root, itself included, that have the file, sorted by path.
// exclude holds patterns as in .gitignore, relative to root; they cannot be negated.
func Find(root string, exclude []string) ([]Found, error) {
	var patterns []gitignore.Pattern
	for _, text := range exclude {
		if strings.HasPrefix(text, "!") {
			return nil, fmt.Errorf("exclude %q: a pattern cannot be negated", text)
		}
		patterns = append(patterns, gitignore.ParsePattern(text, nil))
	}
	matcher := gitignore.NewMatcher(patterns)
	var found []Found
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if relative != "." {
			if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			if matcher.Match(strings.Split(filepath.ToSlash(relative), "/"), entry.IsDir()) {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if entry.Name() != FileName || !entry.Type().IsRegular() {
			return nil
		}
		f, err := Read(filepath.Dir(path), "")
		found = append(found, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Found) int { return strings.Compare(a.Dir, b.Dir) })
	return found, nil
}
