// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package luatext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxSegment is the length of a string in a record, in bytes.
const MaxSegment = 255

// maxLiteral is the length of a literal without its quotes. Longer texts are concatenated literals.
const maxLiteral = 200

// Code is Lua code. The zero value is empty.
type Code struct{ atoms []string }

// Word returns an atom of constant code, such as "ifportup(". A keyword before a name ends with its
// space.
func Word(constant string) Code {
	if len(constant) == 0 || len(constant) > MaxSegment || strings.IndexFunc(constant, func(r rune) bool { return !plain(r) && r != '\'' }) >= 0 {
		panic(fmt.Sprintf("%q cannot be an atom of Lua code. This is a bug in Yuba", constant))
	}
	return Code{[]string{constant}}
}

// Number returns a number.
func Number(n int) Code { return Word(strconv.Itoa(n)) }

// plain reports whether a character stands for itself in a literal, and in a record.
func plain(r rune) bool { return r >= ' ' && r <= '~' && r != '\'' && r != '"' && r != '\\' }

// maxParts is how many literals and calls an expression concatenates: Lua has about 200 registers.
const maxParts = 20

// Text returns an expression whose value is the text, byte by byte.
func Text(text string) Code {
	parts := mixed(text)
	if len(parts) > maxParts {
		parts = nil
		for chunk := range slices.Chunk([]byte(text), 40) {
			parts = append(parts, char(string(chunk)))
		}
	}
	if len(parts) == 0 {
		return Code{[]string{"''"}}
	}
	atoms := parts[:1:1]
	for _, p := range parts[1:] {
		atoms = append(atoms, "..", p)
	}
	return Code{atoms}
}

// mixed are literals, and calls for the characters that cannot be in literals.
func mixed(text string) (parts []string) {
	for len(text) > 0 {
		n := leading(text, true, maxLiteral)
		if n > 0 {
			parts, text = append(parts, "'"+text[:n]+"'"), text[n:]
			continue
		}
		n = leading(text, false, 40)
		parts, text = append(parts, char(text[:n])), text[n:]
	}
	return parts
}

// char is a call that returns a text.
func char(text string) string {
	codes := make([]string, len(text))
	for i := range codes {
		codes[i] = strconv.Itoa(int(text[i]))
	}
	return "string.char(" + strings.Join(codes, ",") + ")"
}

// leading counts the bytes at the beginning that are plain or not, up to a limit.
func leading(text string, isPlain bool, most int) int {
	n := 0
	for n < len(text) && n < most && plain(rune(text[n])) == isPlain {
		n++
	}
	return n
}

// Join returns the parts as one.
func Join(parts ...Code) Code {
	var all Code
	for _, p := range parts {
		all.atoms = append(all.atoms, p.atoms...)
	}
	return all
}

// List returns the parts as a table: {a,b}.
func List(parts ...Code) Code {
	all := Word("{")
	for i, p := range parts {
		if i > 0 {
			all = Join(all, Word(","))
		}
		all = Join(all, p)
	}
	return Join(all, Word("}"))
}

// Texts returns a table of texts.
func Texts(texts []string) Code {
	parts := make([]Code, len(texts))
	for i, t := range texts {
		parts[i] = Text(t)
	}
	return List(parts...)
}

// String returns the code in one line.
func (c Code) String() string { return strings.Join(c.atoms, "") }

// Segments returns the strings of a record.
func (c Code) Segments() []string {
	var all []string
	var current strings.Builder
	for _, atom := range c.atoms {
		if current.Len()+len(atom) > MaxSegment {
			all = append(all, current.String())
			current.Reset()
		}
		current.WriteString(atom)
	}
	return append(all, current.String())
}

// Content returns a record's content for answers of a type: A "..." "...".
func (c Code) Content(answers string) string {
	return answers + " \"" + strings.Join(c.Segments(), "\" \"") + "\""
}
