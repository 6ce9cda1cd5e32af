// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/json"
	"regexp"
	"strings"
)

// leastEncodedStrictly is what three bytes have in base64.
const leastEncodedStrictly = 4

// Strict returns an empty set without care: every text counts, however short or common, and no text is
// public. Its [Secrets.Detector] decides what may be published; a masker of it would make texts unreadable.
func Strict() *Secrets {
	return &Secrets{public: map[string]bool{}, found: map[string]care{}, whole: map[string]bool{}, short: map[string]bool{}}
}

func (s *Secrets) strict() bool { return s.short != nil }

// boundary matches the first and the last line of a key or certificate.
var boundary = regexp.MustCompile(`^-----(?:BEGIN|END) [A-Z0-9 ]+-----$`)

// addStrictly adds one text to a set without care. A part without letters and digits, such as a line
// with a brace, is no secret.
func (s *Secrets) addStrictly(trimmed, text string, whole bool) {
	switch {
	case trimmed == "", boundary.MatchString(trimmed), !whole && strings.IndexFunc(trimmed, isWordRune) < 0:
		return
	case len(trimmed) < shortest:
		s.short[trimmed] = true
		return
	}
	s.found[trimmed] = anywhere
	if whole {
		s.whole[trimmed], s.whole[text] = true, true
	}
}

// anySetting matches a line with a setting, whatever its name suggests.
var anySetting = regexp.MustCompile(`^[-\s]*["']?[\w.-]+["']?[ \t]*[=:][ \t]*["']?(.*?)["']?[ \t]*[,;]?[ \t]*$`)

// guessSettings adds the values of all settings in a file to a set without care, except those that any
// file has.
func (s *Secrets) guessSettings(text string) {
	if !s.strict() {
		return
	}
	for line := range strings.Lines(text) {
		m := anySetting.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		if c := careFor(m[1], nil); c == asWord || c == anywhere {
			s.Add(m[1])
		}
	}
}

// Detector finds out whether a text contains any secret of a set, in any context. It is safe for
// concurrent use.
type Detector struct {
	rules *rules
	short map[string]bool
}

// Detector returns a Detector for the current secrets of a set that [Strict] made.
func (s *Secrets) Detector() *Detector {
	patterns := s.patterns()
	return &Detector{&rules{finder: newFinder(patterns), decoders: decodersFor(patterns, leastEncodedStrictly)}, s.short}
}

// Finds reports whether a text contains a secret in any form that Yuba knows, or is one of those that
// are too short to be searched. The parts of JSON count as texts, too.
func (d *Detector) Finds(text string) bool {
	return !d.rules.idle() && d.rules.suspects([]byte(text)) || d.equals(text)
}

// equals reports whether a text, or a part of its JSON, is a short secret.
func (d *Detector) equals(text string) bool {
	if len(d.short) == 0 {
		return false
	}
	if d.short[strings.TrimSpace(text)] {
		return true
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	return decoder.Decode(&value) == nil && d.isShort(value)
}

func (d *Detector) isShort(value any) bool {
	switch v := value.(type) {
	case string:
		return d.short[strings.TrimSpace(v)]
	case json.Number:
		return d.short[v.String()]
	case bool:
		return v && d.short["true"] || !v && d.short["false"]
	case []any:
		for _, item := range v {
			if d.isShort(item) {
				return true
			}
		}
	case map[string]any:
		for name, item := range v {
			if d.short[strings.TrimSpace(name)] || d.isShort(item) {
				return true
			}
		}
	}
	return false
}
