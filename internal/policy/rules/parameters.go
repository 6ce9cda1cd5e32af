// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// strict decodes parameters. Unknown names are errors, so that a typing mistake does not loosen a
// rule.
func strict(raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) {
			return fmt.Errorf("%s is a %s, expected another type", other.Field, other.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one object")
	}
	return nil
}

// patterns are texts in which "*" stands for any text. Brackets and dots stand for themselves, as
// addresses contain them.
type patterns []string

func (p patterns) match(text string) bool {
	for _, pattern := range p {
		if matches(pattern, text) {
			return true
		}
	}
	return false
}

func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// plainHost is a host that is written as it is resolved. A source that cannot be parsed may have
// anything before its first slash.
var plainHost = regexp.MustCompile(`^[0-9A-Za-z.:_\[\]-]+$`)

// matchesSource matches the package of a source or provider: [GETTER::SCHEME://]HOST[/PATH]. "*" never
// crosses the end of the host, as a server chooses its paths.
func matchesSource(pattern, text string) bool {
	before, rest, hasScheme := cutScheme(pattern)
	textBefore, textRest, textHasScheme := cutScheme(text)
	host, path, _ := strings.Cut(rest, "/")
	textHost, textPath, _ := strings.Cut(textRest, "/")
	return hasScheme == textHasScheme && matches(before, textBefore) && matches(host, textHost) && (host == textHost || plainHost.MatchString(textHost)) &&
		matches(path, textPath)
}

func cutScheme(source string) (before, rest string, found bool) {
	if before, rest, found = strings.Cut(source, "://"); found && !strings.Contains(before, "/") {
		return before, rest, true
	}
	return "", source, false
}

func (p patterns) validate(name string) error {
	for _, pattern := range p {
		if strings.TrimSpace(pattern) != pattern || pattern == "" {
			return fmt.Errorf("%s: %q is empty, or begins or ends with a blank", name, pattern)
		}
	}
	return nil
}

// selection limits a rule to types and addresses.
type selection struct {
	Types     patterns `json:"types"`
	Addresses patterns `json:"addresses"`
}

func (s *selection) validate() error {
	if err := s.Types.validate("types"); err != nil {
		return err
	}
	return s.Addresses.validate("addresses")
}

func (s *selection) covers(kind, address string) bool {
	return (len(s.Types) == 0 || s.Types.match(kind)) && (len(s.Addresses) == 0 || s.Addresses.match(address))
}

var selectionParameters = []Parameter{
	{Name: "types", Type: TypeTexts, Default: "all", Meaning: "The resource types that the rule is about. `*` stands for any text: `aws_db_*`."},
	{Name: "addresses", Type: TypeTexts, Default: "all", Meaning: "The addresses that the rule is about. `*` stands for any text; all other characters for themselves."},
}
