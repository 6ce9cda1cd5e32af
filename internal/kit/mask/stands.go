// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// standsIn reports whether a found form must be masked in its context.
func (p *pattern) standsIn(text []byte, at span, k kind) bool {
	switch {
	case p.care == anywhere:
		return true
	case string(text[at.begin:at.end]) != p.text: // the case of a common word shows its meaning: postgres, PostgreSQL
		return false
	case p.care == asWord:
		return isWord(text, at)
	}
	return k != naming && isValue(text, at)
}

// isWord reports whether a part of a text is not part of a longer word.
func isWord(text []byte, at span) bool {
	return (at.begin == 0 || !inWord(text[at.begin-1])) && (at.end == len(text) || !inWord(text[at.end]))
}

func inWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// vicinity is the distance around a common word that is inspected to decide whether it is a value.
const vicinity = 128

// isValue reports whether a part of a text is a value: all of the text or of a line, the value of a
// name, or an item of a list.
//
//	id=app   name = "app"   "user": "app"   user: app   ["app", "db"]   + "app",   //user:app@host   password app
//
// It is not a value as part of a name, a label or a sentence:
//
//	resource "postgresql_role" "app"   app.example.com   role "app" exists   terraform_app
func isValue(text []byte, at span) bool {
	if !isWord(text, at) || joined(text, at) {
		return false
	}
	quoted := at.begin > 0 && at.end < len(text) && text[at.begin-1] == text[at.end] && (text[at.end] == '"' || text[at.end] == '\'')
	if quoted {
		at.begin--
		at.end++
	}
	rest := text[at.end:min(len(text), at.end+vicinity)]
	before := bytes.TrimRight(text[max(0, at.begin-vicinity):at.begin], " \t")
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	if len(line) == 0 {
		return endsValue(rest)
	}
	switch line[len(line)-1] {
	case '=':
		return true
	case '>':
		return bytes.HasSuffix(line, []byte("->")) || bytes.HasSuffix(line, []byte("=>"))
	case ':':
		return quoted || endsValue(rest) || rest[0] == '@'
	case '[': // a list, not an instance key
		return quoted && (len(line) == 1 || !inWord(line[len(line)-2]))
	case '(', ',', '{':
		return quoted
	case '+', '-', '~':
		return quoted && len(bytes.TrimSpace(line)) == 1
	}
	return namesSecret(line)
}

// joined reports whether punctuation joins a part of a text with its neighbours, as in app-1,
// app.example.com and /srv/app.
func joined(text []byte, at span) bool {
	if at.begin > 0 && bytes.IndexByte([]byte("-./\\@"), text[at.begin-1]) >= 0 {
		return true
	}
	if at.end == len(text) {
		return false
	}
	switch text[at.end] {
	case '-', '/', '\\':
		return true
	case '.':
		return at.end+1 < len(text) && inWord(text[at.end+1])
	}
	return false
}

// endsValue reports whether a value may end before this text.
func endsValue(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r")
	return len(rest) == 0 || bytes.IndexByte([]byte("\n,;]})"), rest[0]) >= 0
}

// namesSecret reports whether a text ends with the name of a secret, as in: password app.
func namesSecret(text []byte) bool {
	begin := len(text)
	for begin > 0 && (inWord(text[begin-1]) || text[begin-1] == '-') {
		begin--
	}
	word := bytes.ToLower(text[begin:])
	names := []string{"password", "passwd", "pwd", "secret", "token", "credential"}
	return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(word, []byte(name)) })
}
