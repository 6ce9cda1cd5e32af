// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
)

// foreign are the values of constants that come from Flux's libraries.
var foreign = map[string]string{
	"ReadyCondition": meta.ReadyCondition, "ReconcilingCondition": meta.ReconcilingCondition, "StalledCondition": meta.StalledCondition,
	"ProgressingReason": meta.ProgressingReason, "SuspendedReason": meta.SuspendedReason,
	"ReconcileRequestAnnotation": meta.ReconcileRequestAnnotation,
}

// constant is a word that users see.
type constant struct{ name, value, text string }

// group is a block of constants with its comment.
type group struct {
	doc    string
	values []constant
}

// readConstants returns the blocks of exported constants of a package's files, in their order.
func readConstants(folder string) ([]group, error) {
	var groups []group
	for _, name := range []string{"conditions.go", "names.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			g, err := readGroup(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func readGroup(block *ast.GenDecl) (group, error) {
	g := group{doc: block.Doc.Text()}
	for _, spec := range block.Specs {
		value := spec.(*ast.ValueSpec)
		name := value.Names[0].Name
		if !ast.IsExported(name) {
			continue
		}
		word, err := wordOf(value.Values[0])
		if err != nil {
			return g, fmt.Errorf("%s: %w", name, err)
		}
		text := strings.Join(strings.Fields(value.Doc.Text()), " ")
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text, name), ":"))
		g.values = append(g.values, constant{name, word, text})
	}
	return g, nil
}

// wordOf is the value of a constant's expression: a string, or the name of a constant of Flux.
func wordOf(expression ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.SelectorExpr:
		if word, ok := foreign[e.Sel.Name]; ok {
			return word, nil
		}
		return "", fmt.Errorf("teach the reference what %s is", e.Sel.Name)
	default:
		return "", fmt.Errorf("the reference does not understand a constant like this: %T", e)
	}
}

// sections are the parts of the page that list constants, by the beginning of their names.
var sections = []struct{ title, prefix, column string }{
	{"Conditions", "Condition", ""},
	{"Reasons", "Reason", "reason"},
	{"Annotations", "Annotation", "annotation"},
	{"Finalizers", "Finalizer", "finalizer"},
	{"Labels", "Label", "label"},
}

func writeConstants(page *strings.Builder, groups []group) error {
	for _, section := range sections {
		fmt.Fprintf(page, "## %s\n\n", section.title)
		found := false
		for _, g := range groups {
			if len(g.values) == 0 || !strings.HasPrefix(g.values[0].name, section.prefix) {
				continue
			}
			found = true
			if section.column == "" {
				page.Write(markdown(g.doc))
				page.WriteString("\n")
				continue
			}
			page.WriteString(firstSentence(g.doc) + "\n\n")
			fmt.Fprintf(page, "| %s | meaning |\n|---|---|\n", section.column)
			for _, c := range g.values {
				if c.text == "" {
					return fmt.Errorf("%s has no comment", c.name)
				}
				fmt.Fprintf(page, "| %s | %s |\n", code(c.value), cell(c.text))
			}
			page.WriteString("\n")
		}
		if !found {
			return fmt.Errorf("there are no constants for the section %s", section.title)
		}
	}
	return nil
}

// markdown renders a Go comment, whose indented parts are figures.
func markdown(text string) []byte {
	var parser comment.Parser
	printer := comment.Printer{DocLinkURL: func(*comment.DocLink) string { return "" }}
	return printer.Markdown(parser.Parse(text))
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
	return strings.TrimSuffix(sentence, ".") + "."
}
