// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a query.
const (
	MaxLength = 2000
	maxTerms  = 50
	// maxLookups bounds what a query may ask the server's index.
	maxLookups = 5
)

// Error says what is wrong with a text, and where: the bytes from At to End.
type Error struct {
	At, End int
	Says    string
}

func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.At+1, e.Says) }

// Field is a field of the language.
type Field struct {
	Name, Says string
	// Values are all values that it can have; nil for any.
	Values []string
	// Example completes the field where no values are known.
	Example string
}

// States are the values of the field status. They are the words of package standing.
var States = []string{"failed", "pending", "refused", "drift", "running", "waiting", "deleting", "suspended", "ready"}

// Fields are the fields of the language. All other names are those of labels.
var Fields = []Field{
	{Name: "status", Says: "how it stands", Values: States},
	{Name: "drift", Says: "whether the infrastructure differs from the last apply", Values: []string{"yes", "no"}},
	{Name: "changed", Says: "how long ago it last changed", Example: "<1d"},
	{Name: "ns", Says: "its namespace", Example: "team-*"},
	{Name: "name", Says: "its name", Example: "*vpc*"},
	{Name: "label", Says: "a label, with or without its value", Example: "team=network"},
	{Name: "source", Says: "its source", Example: "GitRepository/*"},
	{Name: "tenant", Says: "the tenant that it belongs to", Example: "acme"},
	{Name: "cause", Says: "the cause of its failure or drift, as the page of causes names it"},
	{Name: "module", Says: "a module that it uses", Example: "acme/vpc<2"},
	{Name: "provider", Says: "a provider that it uses", Example: "hashicorp/aws<5"},
	{Name: "tool", Says: "the tool that it uses", Example: "tofu<1.10"},
}

// Parse reads a query.
func Parse(text string) (Query, error) {
	q := Query{Text: strings.TrimSpace(text)}
	if len(text) > MaxLength {
		return q, &Error{MaxLength, len(text), fmt.Sprintf("the query is longer than %d characters", MaxLength)}
	}
	s := scanner{text: text}
	for {
		t, more, err := s.next()
		if err != nil {
			return q, err
		}
		if !more {
			break
		}
		if q.terms = append(q.terms, t); len(q.terms) > maxTerms {
			return q, &Error{t.at, t.end, fmt.Sprintf("a query has at most %d terms", maxTerms)}
		}
		if len(q.Lookups()) > maxLookups {
			return q, &Error{t.at, t.end, fmt.Sprintf("a query names at most %d modules, providers and tools", maxLookups)}
		}
	}
	return q, nil
}

// scanner reads terms.
type scanner struct {
	text string
	at   int
}

func (s *scanner) next() (t term, more bool, err error) {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
	if s.at == len(s.text) {
		return t, false, nil
	}
	t.at = s.at
	if s.text[s.at] == '-' && s.at+1 < len(s.text) && !isSpace(s.text[s.at+1]) {
		t.not = true
		s.at++
	}
	if name, found := fieldAt(s.text[s.at:]); found {
		s.at += len(name) + 1
		t.field = strings.ToLower(name)
		t.label = !slices.ContainsFunc(Fields, func(f Field) bool { return f.Name == t.field })
		if t.values, err = s.values(&t); err != nil {
			return t, false, err
		}
	} else {
		text, err := s.word(false)
		if err != nil {
			return t, false, err
		}
		t.values = []value{{text: text, pattern: strings.ToLower(text)}}
	}
	t.end = s.at
	return t, true, nil
}

// fieldAt returns the name before a colon at the start of a text.
func fieldAt(text string) (name string, found bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case c == ':':
			return text[:i], i > 0
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '/', c == '-' && i > 0:
		default:
			return "", false
		}
	}
	return "", false
}

// values reads the alternatives of a field.
func (s *scanner) values(t *term) ([]value, error) {
	var all []value
	for {
		from := s.at
		text, err := s.word(true)
		if err != nil {
			return nil, err
		}
		v, says := check(t, text)
		if says != "" {
			return nil, &Error{from, max(s.at, from+1), says}
		}
		all = append(all, v)
		if s.at == len(s.text) || s.text[s.at] != ',' {
			return all, nil
		}
		s.at++
	}
}

// word reads a word or a quoted text. A quoted text ends with a quote; a backslash takes the next
// character as it is.
func (s *scanner) word(commas bool) (string, error) {
	var b strings.Builder
	from, quoted := s.at, false
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\' && s.at+1 < len(s.text):
			s.at++
			_, size := utf8.DecodeRuneInString(s.text[s.at:])
			b.WriteString(s.text[s.at : s.at+size])
			s.at += size - 1
		case !quoted && (isSpace(c) || commas && c == ','):
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
		s.at++
	}
	if quoted {
		return "", &Error{from, len(s.text), `a quote (") is missing at the end`}
	}
	return b.String(), nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// check reads one value of a term, or says what is wrong with it.
func check(t *term, text string) (v value, says string) {
	v = value{text: text, pattern: strings.ToLower(text)}
	if text == "" {
		return v, t.field + ": needs a value"
	}
	if t.label {
		return v, ""
	}
	switch t.field {
	case "status", "drift":
		f := Fields[slices.IndexFunc(Fields, func(f Field) bool { return f.Name == t.field })]
		v.text = v.pattern
		if !strings.Contains(text, "*") && !slices.Contains(f.Values, v.text) || t.field == "drift" && strings.Contains(text, "*") {
			return v, fmt.Sprintf("%s: %q is not one of %s", t.field, text, strings.Join(f.Values, ", "))
		}
	case "changed":
		v.than = text[:1]
		age, ok := duration(strings.TrimPrefix(text[1:], "="))
		if v.than != "<" && v.than != ">" || !ok {
			return v, fmt.Sprintf("changed: %q is not a time such as <1d (within the last day) or >2h (longer than two hours ago); units are m, h, d and w", text)
		}
		v.age = age
	case "module", "provider", "tool":
		v.lookup, says = lookup(t.field, text)
	}
	return v, says
}

// units of durations.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// duration reads a number with a unit.
func duration(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	unit, known := units[text[len(text)-1]]
	const most = 100_000
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	return time.Duration(min(n, most)) * unit, known && err == nil && n <= most
}

// lookup turns acme/vpc<2 into the form of "yuba registry users": acme/vpc/*@<2.
func lookup(field, text string) (Lookup, string) {
	of, versions := text, ""
	if at := strings.IndexAny(text, "<>=!~@"); at >= 0 {
		of, versions = text[:at], strings.TrimPrefix(text[at:], "@")
	}
	names := strings.Count(of, "/") + 1
	host, _, _ := strings.Cut(of, "/")
	if names > 1 && strings.ContainsAny(host, ".:") {
		names--
	}
	switch {
	case field == "tool" && of != "tofu" && of != "terraform":
		return Lookup{}, fmt.Sprintf("tool: %q is not tofu or terraform, with an optional version such as tofu<1.10", text)
	case field == "provider" && names != 2:
		return Lookup{}, fmt.Sprintf("provider: %q is not NAMESPACE/NAME with an optional version, such as hashicorp/aws<5", text)
	case field == "module" && names == 2 && !strings.Contains(of, "::"):
		of += "/*" // of any system
	case field == "module" && names < 2:
		return Lookup{}, fmt.Sprintf("module: %q is not NAMESPACE/NAME or NAMESPACE/NAME/SYSTEM with an optional version, such as acme/vpc<2", text)
	}
	if versions != "" {
		of += "@" + versions
	}
	return Lookup{of}, ""
}
