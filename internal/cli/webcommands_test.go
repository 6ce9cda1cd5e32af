// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The web page shows the command for what it shows, to copy. Each can be made.
func TestCommandsOfTheWebPageAreThere(t *testing.T) {
	found := map[string]string{}
	err := filepath.WalkDir("../web", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go"):
			return err
		case strings.HasSuffix(path, ".go"):
			commandsInGo(t, path, found)
		case strings.HasSuffix(path, ".html"):
			commandsInHTML(t, path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 60 {
		t.Fatalf("only %d commands were found", len(found))
	}
	for line, path := range found {
		t.Run(line, func(t *testing.T) {
			t.Log(path)
			callable(t, line)
		})
	}
}

// inText matches a command in a sentence, up to a word that is none of its parts.
var inText = regexp.MustCompile(`yuba [a-z-]+(?: (?:[a-z-]+|-{1,2}[A-Za-z][a-z-]*|[A-Z][A-Z/@.0-9]*[A-Z0-9]))*`)

// commandsInGo finds the command lines that a file writes: texts that begin with "yuba", with X for what
// is not fixed, and those behind a colon at the end of a sentence.
func commandsInGo(t *testing.T, path string, found map[string]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		expression, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := textOf(expression)
		if !ok {
			return true
		}
		_, last, hint := strings.Cut(text, ": yuba ")
		switch {
		case hint:
			found[withoutMore("yuba "+last)] = path
		case strings.HasPrefix(text, "yuba "):
			for line := range strings.SplitSeq(text, "\n") {
				found[withoutMore(line)] = path
			}
		}
		return false
	})
}

// withoutMore cuts what a shell or a person would take for no part of the command.
func withoutMore(line string) string {
	for _, end := range []string{"    (", " > ", " | ", "   #", "\n"} {
		line, _, _ = strings.Cut(line, end)
	}
	return strings.TrimSpace(strings.ReplaceAll(line, "'*'", "X"))
}

// textOf is the text of literals that are joined by +, and of shell.Line.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, before := textOf(e.X)
		b, after := textOf(e.Y)
		if !before {
			a = "X"
		}
		if !after {
			b = "X"
		}
		return a + b, e.Op == token.ADD && (before || after)
	case *ast.CallExpr:
		if called, ok := e.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "Line" {
			return "", false
		}
		var words []string
		for _, argument := range e.Args {
			word, ok := textOf(argument)
			if !ok {
				word = "X"
			}
			words = append(words, word)
		}
		return strings.Join(words, " "), true
	}
	return "", false
}

func commandsInHTML(t *testing.T, path string, found map[string]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range inText.FindAllString(html.UnescapeString(string(data)), -1) {
		found[line] = path
	}
}
