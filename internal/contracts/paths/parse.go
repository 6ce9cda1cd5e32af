// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

const (
	// maxText and maxSteps are far beyond what people write, and keep hostile paths small.
	maxText, maxSteps = 2048, 64
	// maxIndex keeps a projection by index from growing beyond its list by accident.
	maxIndex = 1_000_000
)

// Parse parses a path such as subnets[*].id. The empty text is the path to the whole value.
func Parse(text string) (Path, error) {
	r := &reader{text: text}
	if len(text) > maxText || !utf8.ValidString(text) {
		return nil, r.wrong(fmt.Sprintf("a path is at most %d bytes of UTF-8", maxText))
	}
	var p Path
	for r.at < len(text) {
		step, err := r.step()
		if err != nil {
			return nil, err
		}
		if p = append(p, step); len(p) > maxSteps {
			return nil, r.wrong(fmt.Sprintf("a path has at most %d steps", maxSteps))
		}
	}
	return p, nil
}

type reader struct {
	text string
	at   int
}

func (r *reader) wrong(why string) error {
	return fmt.Errorf("parse the path %q, column %d: %s; write it like subnets[*].id, zones[0] or tags[\"a.b\"]",
		shorten.Cut(r.text, 80), utf8.RuneCountInString(r.text[:min(r.at, len(r.text))])+1, why)
}

func (r *reader) step() (Step, error) {
	switch c := r.text[r.at]; {
	case c == '[':
		return r.bracket()
	case c == '.' && r.at == 0:
		return Step{}, r.wrong("the path is relative to the value and begins with a name")
	case c == '.':
		r.at++
	case r.at > 0:
		return Step{}, r.wrong("expected a dot or a bracket")
	}
	end := r.at
	for end < len(r.text) && r.text[end] != '.' && r.text[end] != '[' {
		end++
	}
	word := norm.NFC.String(r.text[r.at:end])
	if !hclsyntax.ValidIdentifier(word) {
		return Step{}, r.wrong("expected a name of letters, digits, underscores and dashes; other names are quoted in brackets")
	}
	r.at = end
	return Step{kind: name, name: word}, nil
}

func (r *reader) bracket() (Step, error) {
	rest := r.text[r.at+1:]
	switch {
	case strings.HasPrefix(rest, "*]"):
		r.at += len("[*]")
		return Step{kind: each}, nil
	case strings.HasPrefix(rest, `"`):
		r.at++
		return r.quoted()
	}
	digits, _, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	if !closed || err != nil || i < 0 || i > maxIndex || strconv.Itoa(i) != digits {
		return Step{}, r.wrong(fmt.Sprintf("expected *, an index up to %d or a quoted key, and a closing bracket", maxIndex))
	}
	r.at += len(digits) + len("[]")
	return Step{kind: index, index: i}, nil
}

// quoted reads a key up to its quote and bracket. As in OpenTofu, a backslash escapes.
func (r *reader) quoted() (Step, error) {
	for end := r.at + 1; end < len(r.text); end++ {
		switch r.text[end] {
		case '\\':
			end++
		case '"':
			key, err := strconv.Unquote(r.text[r.at : end+1])
			if err != nil || !utf8.ValidString(key) {
				return Step{}, r.wrong("the quoted key has an escape that is not valid")
			}
			if !strings.HasPrefix(r.text[end+1:], "]") {
				r.at = end + 1
				return Step{}, r.wrong("expected a bracket after the quoted key")
			}
			r.at = end + 2
			return Step{kind: name, name: norm.NFC.String(key)}, nil
		}
	}
	return Step{}, r.wrong("the quoted key does not end")
}

func quote(key string) string { return strconv.Quote(key) }
