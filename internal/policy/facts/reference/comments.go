// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// comments are what the source says about types and their fields.
type comments struct {
	types map[string]string
	// fields are by TYPE.FIELD.
	fields map[string]string
	// constants are the values of constants with a prefix, in their order.
	constants []constant
}

type constant struct{ name, value string }

// readComments reads document.go, which has all types of the document.
func readComments(folder string) (*comments, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, "document.go"), nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the types of facts: %w", err)
	}
	c := &comments{types: map[string]string{}, fields: map[string]string{}}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				c.constant(s)
			case *ast.TypeSpec:
				if of, ok := s.Type.(*ast.StructType); ok {
					c.describe(s.Name.Name, group.Doc.Text(), of)
				}
			}
		}
	}
	return c, nil
}

func (c *comments) constant(s *ast.ValueSpec) {
	for i, name := range s.Names {
		if literal, ok := s.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				c.constants = append(c.constants, constant{name.Name, value})
			}
		}
	}
}

func (c *comments) describe(name, doc string, of *ast.StructType) {
	names := map[string]string{} // of fields, from Go to JSON
	for _, field := range of.Fields.List {
		for _, n := range field.Names {
			if field.Tag != nil {
				tag, _ := strconv.Unquote(field.Tag.Value) //nolint:errcheck // it compiles
				names[n.Name] = jsonName(tag)
			}
		}
	}
	doc = strings.Join(strings.Fields(doc), " ")
	if _, rest, ok := strings.Cut(doc, name+" "); ok {
		doc = sentence(strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are "))
	}
	c.types[name] = words(doc, names)
	last := ""
	for _, field := range of.Fields.List {
		text := strings.Join(strings.Fields(field.Doc.Text()), " ")
		for _, n := range field.Names {
			own := text
			if own == "" && mentions(last, n.Name) {
				own = last // one comment describes several fields
			}
			c.fields[name+"."+n.Name] = words(strings.TrimPrefix(own, n.Name+": "), names)
		}
		if text != "" {
			last = text
		}
	}
}

func jsonName(tag string) string {
	_, rest, _ := strings.Cut(tag, `json:"`)
	name, _, _ := strings.Cut(rest, `"`)
	name, _, _ = strings.Cut(name, ",")
	return name
}

func mentions(text, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(text)
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

var (
	link = regexp.MustCompile(`\[(?:[A-Za-z]+\.)?([A-Za-z]+)\]`)
	word = regexp.MustCompile(`\b[A-Z][A-Za-z]*\b`)
)

// words replaces the names of fields in Go by those in JSON.
func words(text string, names map[string]string) string {
	text = strings.ReplaceAll(text, " (see [NormalizeSource])", "")
	text = strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "; nil ", "; absent ")
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if name := names[w]; name != "" {
			return "`" + name + "`"
		}
		return w
	})
}
