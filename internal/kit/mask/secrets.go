// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// shortestPart is the minimum for strings in JSON, and lines of a longer text.
	shortestPart = 4
	// shortestLine is the minimum for lines of a file: shorter ones occur in every file of its
	// kind.
	shortestLine = 12
	// shortestSetting is the minimum for secret settings in a file.
	shortestSetting = 6
)

// Secrets are texts to mask.
type Secrets struct {
	public map[string]bool
	found  map[string]care
	// whole are the secrets that are also searched in encoded forms.
	whole map[string]bool
	// short is not nil for a set without care: the texts that are too short to be searched.
	short map[string]bool
}

// New returns an empty set. public texts are known to everybody, such as the name of the stack: an
// equal secret is masked only where it is a value.
func New(public ...string) *Secrets {
	s := &Secrets{public: map[string]bool{}, found: map[string]care{}, whole: map[string]bool{}}
	for _, text := range public {
		s.public[strings.ToLower(strings.TrimSpace(text))] = true
	}
	return s
}

// Add adds a value that is secret as a whole: a text of one or more lines, a URL with a password,
// or JSON.
func (s *Secrets) Add(text string) {
	s.add(text, shortest, true)
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			s.add(line, shortestPart, false)
		}
	}
	s.password(text)
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		s.AddJSON([]byte(trimmed))
	}
}

// AddJSON adds the strings and long numbers in a JSON value. It ignores invalid JSON.
func (s *Secrets) AddJSON(raw []byte) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil {
		s.leaf(value, true)
	}
}

func (s *Secrets) leaf(value any, whole bool) {
	switch v := value.(type) {
	case string:
		if whole || s.strict() || len(strings.TrimSpace(v)) >= shortestPart {
			s.Add(v)
		}
	case bool:
		if s.strict() {
			s.short[strconv.FormatBool(v)] = true
		}
	case json.Number:
		s.add(v.String(), shortest, true)
	case []any:
		for _, item := range v {
			s.leaf(item, false)
		}
	case map[string]any:
		for _, item := range v {
			s.leaf(item, false)
		}
	}
}

// AddFile adds the content of a file: all of it, its long lines, and its secret settings.
// Certificates are not secret.
func (s *Secrets) AddFile(content []byte) {
	text := string(content)
	if !utf8.Valid(content) {
		s.whole[text] = true
		return
	}
	s.AddSettings(text)
	s.guessSettings(text)
	if whole := strings.TrimSpace(text); !strings.Contains(whole, "\n") {
		s.Add(whole)
		return
	}
	s.whole[text] = true
	if json.Valid(content) {
		s.AddJSON(content)
	}
	certificate := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") {
			certificate = line == "-----BEGIN CERTIFICATE-----"
			continue
		}
		if !certificate {
			s.add(line, shortestLine, false)
		}
	}
}

// setting matches the value of a name that suggests a secret: token = "…", "token": "…", and
// password … as in a .netrc.
var setting = regexp.MustCompile(`(?i)(?:[\w.-]*(?:token|password|passwd|secret|credential|key)[\w.-]*"?[ \t]*[=:][ \t]*|\bpassword[ \t]+)(?:"((?:[^"\\]|\\.)*)"|([^\s"=:][^\s"]*))`)

// AddSettings adds the secret settings in a file. It ignores comments.
func (s *Secrets) AddSettings(text string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, m := range setting.FindAllStringSubmatch(line, -1) {
			value := m[1] + m[2]
			if unquoted, err := strconv.Unquote(`"` + m[1] + `"`); err == nil && m[2] == "" {
				value = unquoted
			}
			if s.strict() || len(strings.TrimSpace(value)) >= shortestSetting {
				s.Add(value)
			}
		}
	}
}

// maxURL is longer than usual URLs.
const maxURL = 4 << 10

// password adds the password in a URL: programs extract it, and show it alone or in another URL.
func (s *Secrets) password(text string) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL || !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return
	}
	if password, has := u.User.Password(); has {
		s.add(password, shortestPart, true)
	}
}

// add adds one text, with its encoded forms if it is whole.
func (s *Secrets) add(text string, least int, whole bool) {
	trimmed := strings.TrimSpace(text)
	if s.strict() {
		s.addStrictly(trimmed, text, whole)
		return
	}
	if len(trimmed) < least {
		return
	}
	c := careFor(trimmed, s.public)
	if c == ignored {
		return
	}
	s.found[trimmed] = c
	if whole {
		s.whole[trimmed], s.whole[text] = true, true
	}
}
