// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"fmt"
	"strings"
)

// PageInput is what a reference page is made of.
type PageInput struct {
	Schema     *Schema
	APIVersion string
	Kind       string
	Plural     string
	// Title and Description are for people; Title is the kind by default.
	Title, Description string
	// Order is the definition's keysOrder.
	Order [][]string
	// Outputs are the names of values in the status and in the Secret of an instance.
	Outputs []string
}

// Page returns a reference of a kind as Markdown. Texts of its author are escaped: they cannot become
// markup or HTML.
func Page(in PageInput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(oneLine(cmp.Or(in.Title, in.Kind), 200), false))
	if text := cmp.Or(in.Description, in.Schema.Spec.Description); text != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(oneLine(text, 4000), false))
	}
	fmt.Fprintf(&b, "Kind %s in %s. List yours with:\n\n    kubectl get %s\n\n## Example\n\n", code(in.Kind), code(in.APIVersion), in.Plural)
	manifest := in.Schema.Manifest(in.APIVersion, in.Kind, "example", in.Order)
	for line := range strings.Lines(manifest) {
		b.WriteString("    " + line)
	}
	b.WriteString("\n## Fields\n\n")
	fields := in.Schema.Fields(in.Order)
	if len(fields) == 0 {
		b.WriteString("The spec has no described fields.\n")
	} else {
		b.WriteString("| Field of spec | Type | Default | Description |\n|---|---|---|---|\n")
		rows(&b, fields)
	}
	if len(in.Outputs) > 0 {
		b.WriteString("\n## Outputs\n\n")
		for _, name := range in.Outputs {
			fmt.Fprintf(&b, "- %s\n", code(name))
		}
	}
	return b.String()
}

// rows writes a row for each field and those below it.
func rows(b *strings.Builder, fields []Field) {
	for _, f := range fields {
		kind := f.Type
		if f.Required {
			kind += ", required"
		}
		value := ""
		if f.Default != nil {
			value = code(oneLine(string(f.Default), 120))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(f.Path), kind, value, cell(f))
		rows(b, f.Fields)
	}
}

// cell describes a field in a cell of a table.
func cell(f Field) string {
	var parts []string
	if text := oneLine(f.Description, 2000); text != "" {
		parts = append(parts, escape(text, true))
	} else if text := oneLine(f.Title, 200); text != "" {
		parts = append(parts, escape(text, true))
	}
	if len(f.Values) > 0 {
		var values []string
		for _, value := range f.Values {
			values = append(values, code(oneLine(string(value), 80)))
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	for _, condition := range f.Conditions {
		name, rest, is := strings.Cut(condition, " ")
		if is && name == "matches" {
			parts = append(parts, "Matches "+code(rest)+".")
			continue
		}
		text := escape(oneLine(condition, 200), true)
		parts = append(parts, strings.ToUpper(text[:1])+text[1:]+".")
	}
	return strings.Join(parts, " ")
}

// code returns a code span. Tables end cells at bars also inside of code, so bars are escaped, and
// with backticks or backslashes inside the text is not code.
func code(text string) string {
	text = oneLine(text, 400)
	if text == "" || strings.ContainsAny(text, "`\\|") {
		return escape(text, true)
	}
	return "`" + text + "`"
}

// escape makes text of a foreign text. Pairs of backticks stay, as authors mark code with them.
func escape(text string, cell bool) string {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // one is left over
		return plainText(text)
	}
	var b strings.Builder
	for i, part := range parts {
		switch {
		case i%2 == 0:
			b.WriteString(plainText(part))
		case part == "" || cell && strings.ContainsAny(part, "|\\"):
			b.WriteString(plainText("`" + part + "`"))
		default:
			b.WriteString("`" + part + "`")
		}
	}
	return b.String()
}

// special are the characters that mean something in Markdown. A colon makes links of addresses.
const special = "\\`*_{}[]<>()#+-.!|~&:="

func plainText(text string) string {
	var b strings.Builder
	for i, r := range text {
		quiet := strings.ContainsRune("-.():=+{}", r)
		// Most marks only mean something at the beginning of a text or in addresses.
		harmless := quiet && i > 0 && !(r == ':' && strings.HasPrefix(text[i:], "://")) && !(r == '(' && text[i-1] == ']')
		if strings.ContainsRune(special, r) && !harmless {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
