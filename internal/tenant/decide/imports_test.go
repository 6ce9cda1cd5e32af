// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports keeps decisions a function of their facts: no client, context, logger, randomness or clock.
func TestImports(t *testing.T) {
	allowed := []string{"cmp", "crypto/sha256", "encoding/hex", "fmt", "slices", "strings", "time"}
	// Of package time only what computes; everything that asks or waits for a clock is left out.
	pure := []string{"Time", "Duration"}

	for name, file := range sources(t) {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Contains(allowed, path) || spec.Name != nil {
				t.Errorf("%s imports %s; a decision may only depend on its facts. Gather it in package controller", name, spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" && !slices.Contains(pure, selector.Sel.Name) {
				t.Errorf("%s uses time.%s; the time is a fact, use Facts.Now", name, selector.Sel.Name)
			}
			return true
		})
	}
}

// sources parses the package's files, tests left out.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("list the package's files: %v, found %d", err, len(names))
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %s: %v", name, err)
		}
		files[name] = file
	}
	return files
}
