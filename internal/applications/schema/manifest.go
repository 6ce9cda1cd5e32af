// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Manifest returns an instance as YAML, for people to edit: required fields are set, and others are
// comments with their defaults. The order is that of Fields.
func (s *Schema) Manifest(apiVersion, kind, name string, order [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", apiVersion, kind, name)
	example := s.Example()
	if len(example) == 0 {
		b.WriteString("spec: {}\n")
	} else {
		b.WriteString("spec:\n")
	}
	for _, f := range s.Fields(order) {
		describe(&b, f)
		value, set := example[f.Name]
		prefix := "  "
		if !set {
			prefix = "  # "
			if value, _ = plainJSON(f.Default); value == nil {
				b.WriteString(prefix + oneLine(f.Name, maxComment) + ":\n")
				continue
			}
		}
		text, err := yaml.Marshal(map[string]any{f.Name: value})
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			b.WriteString(prefix + line)
		}
	}
	return b.String()
}

// maxComment limits the description of a field in a manifest.
const maxComment = 160

// describe writes what a field is as a comment.
func describe(b *strings.Builder, f Field) {
	text := firstSentence(f.Description)
	if text == "" {
		text = f.Title
	}
	words := []string{f.Type}
	if f.Required {
		words = append(words, "required")
	}
	if len(f.Values) > 0 {
		var values []string
		for _, value := range f.Values {
			values = append(values, string(value))
		}
		words = append(words, "one of "+strings.Join(values, ", "))
	}
	line := oneLine(strings.TrimSpace(text+" ("+strings.Join(words, "; ")+")"), maxComment*2)
	b.WriteString("  # " + line + "\n")
}

func firstSentence(text string) string {
	text = oneLine(text, maxComment)
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i+1]
	}
	return text
}

// oneLine makes one line of a foreign text, without control characters and marks that reorder it.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most])) + "…"
	}
	return text
}
