// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/run"
)

// maskMark stands where a secret was.
const maskMark = "(sensitive)"

// Shorter values are not looked for: masking every "1" or "yes" would destroy the text and tell the value.
const (
	minSecret      = 3
	minSecretPart  = 4
	minSecretDigit = 6
	// minSecretLine is for lines of files, minSecretEncoded for values whose base64 form is looked for.
	minSecretLine    = 12
	minSecretEncoded = 8
	// maxWrapped is for values whose base64 form is looked for in lines.
	maxWrapped = 16 << 10
)

// masker replaces a run's secret values in text that leaves the run. The zero masker masks nothing.
type masker struct {
	needles  []string
	replacer *strings.Replacer
}

// newMasker gathers the secret values of a spec.
func newMasker(spec *run.Spec) *masker {
	found := map[string]bool{}
	for _, v := range spec.Variables {
		if v.Secret {
			addJSON(found, v.Value, true)
		}
	}
	for _, e := range spec.Env {
		if e.Secret {
			addText(found, e.Value, minSecret)
			if json.Valid([]byte(e.Value)) {
				addJSON(found, json.RawMessage(e.Value), false)
			}
		}
	}
	for _, f := range spec.Files {
		if f.Secret {
			addFile(found, f.Content)
		}
	}
	addAssigned(found, string(spec.CLIConfig))
	for _, text := range spec.Secrets {
		addText(found, text, minSecret)
	}
	return maskerOf(found)
}

// maskerOf looks for all of these texts.
func maskerOf(found map[string]bool) *masker {
	m := &masker{}
	for text := range found {
		m.needles = append(m.needles, text)
	}
	slices.SortFunc(m.needles, func(a, b string) int { // the longest first: a part must not spoil its whole
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(m.needles))
	for _, n := range m.needles {
		pairs = append(pairs, n, maskMark)
	}
	m.replacer = strings.NewReplacer(pairs...)
	return m
}

// maskTexts looks for texts, however they are quoted.
func maskTexts(texts []string) *masker {
	found := map[string]bool{}
	for _, text := range texts {
		addText(found, text, minSecretPart)
	}
	return maskerOf(found)
}

// secrets are the texts that are looked for.
func (m *masker) secrets() []string {
	if m == nil {
		return nil
	}
	return m.needles
}

// addJSON adds the strings and long numbers inside of a JSON value.
func addJSON(found map[string]bool, raw json.RawMessage, whole bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return
	}
	least := minSecretPart
	if whole {
		least = minSecret
	}
	var walk func(any, int)
	walk = func(value any, least int) {
		switch v := value.(type) {
		case string:
			addText(found, v, least)
		case json.Number:
			if len(strings.Trim(v.String(), "-.eE+")) >= minSecretDigit {
				found[v.String()] = true
			}
		case []any:
			for _, item := range v {
				walk(item, minSecretPart)
			}
		case map[string]any:
			for _, item := range v {
				walk(item, minSecretPart)
			}
		}
	}
	walk(value, least)
}

// assigned finds what a file gives to a name that is one of a secret: token = "…", "token": "…", and password … as in a
// .netrc.
var assigned = regexp.MustCompile(`(?i)(?:[\w.-]*(?:token|password|passwd|secret|credential|key)[\w.-]*"?[ \t]*[=:][ \t]*|\bpassword[ \t]+)(?:"((?:[^"\\]|\\.)*)"|([^\s"=:][^\s"]*))`)

// addAssigned adds the secrets that a file of settings names as such. Comments are prose.
func addAssigned(found map[string]bool, text string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, m := range assigned.FindAllStringSubmatch(line, -1) {
			value := m[1] + m[2]
			if unquoted, err := strconv.Unquote(`"` + m[1] + `"`); err == nil && m[2] == "" {
				value = unquoted
			}
			addText(found, value, minSecretDigit)
		}
	}
}

// addFile adds the content of a file: the whole, long lines, and what it names as secret. Short lines are of every file
// of its kind, and certificates are made to be shown.
func addFile(found map[string]bool, content []byte) {
	text := string(content)
	addEncodings(found, text)
	if !utf8.Valid(content) {
		return
	}
	if json.Valid(content) {
		addJSON(found, content, false)
	}
	addAssigned(found, text)
	if whole := strings.TrimSpace(text); !strings.Contains(whole, "\n") {
		addText(found, whole, minSecretPart)
		return
	}
	certificate := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") {
			certificate = line == "-----BEGIN CERTIFICATE-----"
			continue
		}
		if !certificate {
			addPart(found, line, minSecretLine)
		}
	}
}

// addText adds a text, its lines, how JSON and HCL would quote it, and its base64 forms.
func addText(found map[string]bool, text string, least int) {
	if addPart(found, text, least) {
		addEncodings(found, strings.TrimSpace(text))
		addEncodings(found, text)
	}
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			addPart(found, line, minSecretPart)
		}
	}
}

// addPart adds a text, or a line of one, and how it would be quoted, unless it is too common to be looked for.
func addPart(found map[string]bool, s string, least int) bool {
	switch s = strings.TrimSpace(s); {
	case len(s) < least, s == "true", s == "false", s == "null":
		return false
	}
	found[s] = true
	for _, quoted := range quotings(s) {
		found[quoted] = true
	}
	return true
}

func addEncodings(found map[string]bool, text string) {
	for _, encoded := range encodings(text) {
		found[encoded] = true
	}
	if len(text) > maxWrapped {
		return
	}
	// Programs such as base64 and openssl break what they encode into lines.
	whole := base64.StdEncoding.EncodeToString([]byte(text))
	for _, width := range []int{76, 64} {
		for line := whole; len(whole) > width && len(line) >= minSecretLine; line = line[min(width, len(line)):] {
			found[line[:min(width, len(line))]] = true
		}
	}
}

// encodings are the base64 forms of a text that is long enough to be told by them: with padding or without, for URLs or
// not.
func encodings(s string) []string {
	if len(s) < minSecretEncoded {
		return nil
	}
	var out []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, encoding.EncodeToString([]byte(s)), encoding.WithPadding(base64.StdPadding).EncodeToString([]byte(s)))
	}
	return out
}

// quotings are the ways a text may be written inside of quotes: JSON with and without HTML escapes, Go and HCL.
func quotings(s string) []string {
	html, _ := json.Marshal(s) // a string always marshals
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // to memory
	var out []string
	for _, quoted := range []string{string(html), strings.TrimSpace(plain.String()), strconv.Quote(s), hclString(s)} {
		out = append(out, quoted[1:len(quoted)-1])
	}
	return out
}

// text masks plain text.
func (m *masker) text(s string) string {
	if m == nil || len(m.needles) == 0 {
		return s
	}
	return m.replacer.Replace(s)
}

// line masks a log line. One that is JSON stays JSON: its strings and numbers are masked each for itself.
func (m *masker) line(line []byte) []byte {
	if m == nil || len(m.needles) == 0 {
		return line
	}
	if bytes.IndexByte(line, '\\') < 0 && !m.contained(string(line)) {
		return line
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return []byte(m.text(string(line)))
	}
	masked, changed := m.message(value)
	if !changed {
		return line
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(masked) != nil {
		return []byte(m.text(string(line)))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// message masks a decoded line. The names and the marks of the outermost object are the format itself: a secret that
// happens to be called "diagnostic" must not make the line unreadable.
func (m *masker) message(value any) (any, bool) {
	object, ok := value.(map[string]any)
	if !ok {
		return m.value(value)
	}
	changed := false
	for name, item := range object {
		switch name {
		case "type", "@level", "@module", "@timestamp":
			continue
		}
		masked, did := m.value(item)
		object[name], changed = masked, changed || did
	}
	return object, changed
}

func (m *masker) contained(s string) bool {
	return m.replacer.Replace(s) != s // one pass, however many there are
}

func (m *masker) value(value any) (any, bool) {
	changed := false
	switch v := value.(type) {
	case string:
		masked := m.text(v)
		return masked, masked != v
	case json.Number:
		if slices.Contains(m.needles, v.String()) {
			return maskMark, true
		}
	case []any:
		for i, item := range v {
			masked, did := m.value(item)
			v[i], changed = masked, changed || did
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			masked, did := m.value(item)
			shown := m.text(name)
			out[shown], changed = masked, changed || did || shown != name
		}
		return out, changed
	}
	return value, changed
}
