// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The ways to name variables and attributes.
const (
	// CamelToSnake turns bucketName into bucket_name.
	CamelToSnake = "camelToSnake"
	// AsIs keeps names.
	AsIs = "asIs"
)

// The ways to map nested objects.
const (
	// Object makes a variable of each top-level field; objects stay objects.
	Object = "object"
	// Flatten makes a variable of each field of nested objects, with joined names.
	Flatten = "flatten"
	// Values makes one variable, named values, of the whole spec.
	Values = "values"
)

// valuesName is the variable of nesting Values. tofu-controller has the same.
const valuesName = "values"

// Mapping is what a definition says.
type Mapping struct {
	// Naming is CamelToSnake or AsIs. By default, names change except for nesting Values, whose
	// readers expect the spec.
	Naming string
	// Nesting is Object, Flatten or Values; Object by default.
	Nesting string
	// Overrides are names by path, instead of those by the naming.
	Overrides map[string]string
}

func (m Mapping) naming() string {
	switch {
	case m.Naming != "":
		return m.Naming
	case m.Nesting == Values:
		return AsIs
	}
	return CamelToSnake
}

// Snake returns a name in snake case: vpcID is vpc_id, HTTPPort is http_port.
func Snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case r == '-' || r == '.' || r == ' ':
			b.WriteByte('_')
			continue
		case unicode.IsUpper(r) && i > 0 && word(runes, i):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// word reports whether a word begins at a capital letter: after a small letter or digit, or before a
// small letter.
func word(runes []rune, i int) bool {
	before := runes[i-1]
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,254}$`)

// reserved are names that variables of a module cannot have.
var reserved = []string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}

// objection says why a name is not possible, or returns "".
func objection(name string, variable bool) string {
	switch {
	case !identifier.MatchString(name):
		return "is not a valid name"
	case variable && slices.Contains(reserved, name):
		return "is a reserved name"
	}
	return ""
}
