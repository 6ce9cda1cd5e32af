// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package puretest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// computing are the names of package time that only compute. All others read or wait for a clock.
var computing = []string{"Time", "Duration", "Second", "RFC3339"}

// Imports fails if the package in the working directory imports other packages, renames an import,
// or uses parts of package time that read a clock.
func Imports(t *testing.T, allowed ...string) {
	t.Helper()
	for _, problem := range problems(t, ".", allowed) {
		t.Error(problem)
	}
}

func problems(t *testing.T, dir string, allowed []string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) == 0 {
		t.Fatalf("no program is in %s", dir)
	}
	var found []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, inFile(filepath.Base(name), file, allowed)...)
	}
	return found
}

func inFile(name string, file *ast.File, allowed []string) (found []string) {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || spec.Name != nil || !slices.Contains(allowed, path) {
			found = append(found, name+" imports "+spec.Path.Value+"; a decision may only depend on its facts, which are gathered elsewhere")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" && !slices.Contains(computing, selector.Sel.Name) {
			found = append(found, name+" uses time."+selector.Sel.Name+"; the time is a fact, use Facts.Now")
		}
		return true
	})
	return found
}
