// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package colour marks the parts of code that the documentation shows: comments, strings, names,
// variables and prompts. It knows the languages of our pages, and marks nothing in others.
//
// It is no parser: what it does not recognise stays unmarked, and no text is ever lost or changed.
package colour

import (
	"html"
	"regexp"
	"strings"
)

// language is what is marked in a language.
type language struct {
	// comments begin a comment, at the start of a line or after a space.
	comments []string
	quotes   string
	// dollar is true if $NAME and ${NAME} are variables, also in strings with double quotes.
	dollar bool
	// flags is true if words that begin with "-" are flags.
	flags bool
	// name matches the name at the start of a line: the key, the attribute, the instruction.
	name *regexp.Regexp
	// words are marked everywhere.
	words map[string]bool
}

var shell = language{comments: []string{"#"}, quotes: `"'`, dollar: true, flags: true}

var languages = map[string]language{
	"sh":         shell,
	"yaml":       {comments: []string{"#"}, quotes: `"'`, dollar: true, name: regexp.MustCompile(`^\s*(?:- )*([\w./-]+)(:)(?:\s|$)`)},
	"hcl":        {comments: []string{"#", "//"}, quotes: `"`, dollar: true, name: regexp.MustCompile(`^\s*(\w+)(\s*=\s|\s*\{|\s+")`)},
	"json":       {quotes: `"`, words: set("true false null")},
	"ini":        {comments: []string{"#", ";"}, name: regexp.MustCompile(`^(\[[^\]]*\]|\w+)(\s*=|\s*$)`)},
	"dockerfile": {comments: []string{"#"}, quotes: `"`, dollar: true, flags: true, name: regexp.MustCompile(`^([A-Z]+)(\s)`)},
	"sql": {comments: []string{"--"}, quotes: "'", words: set("SELECT FROM WHERE AS AND OR NOT NULL IN JOIN LEFT ON ORDER BY GROUP CREATE TABLE VIEW USER GRANT TO " +
		"INSERT INTO VALUES UPDATE SET DELETE PRIMARY KEY DEFAULT INTEGER TEXT VARCHAR BOOLEAN CASE WHEN THEN ELSE END")},
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(words) {
		m[word] = true
	}
	return m
}

// HTML returns code as HTML.
func HTML(name, code string) string {
	if name == "console" {
		return console(code)
	}
	l, ok := languages[name]
	if !ok {
		return html.EscapeString(code)
	}
	return l.mark(code)
}

// console marks commands after prompts, and leaves what they print alone. Without prompts everything is a
// command.
func console(code string) string {
	if !strings.HasPrefix(code, "$ ") && !strings.Contains(code, "\n$ ") {
		return shell.mark(code)
	}
	var b strings.Builder
	command := false
	for line := range strings.Lines(code) {
		rest, prompt := strings.CutPrefix(line, "$ ")
		if prompt {
			b.WriteString(`<span class="p">$ </span>`)
		}
		if command = prompt || command; command {
			b.WriteString(shell.mark(rest))
			command = strings.HasSuffix(strings.TrimRight(line, "\n"), `\`)
			continue
		}
		b.WriteString(`<span class="o">` + html.EscapeString(strings.TrimRight(line, "\n")) + "</span>")
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (l language) mark(code string) string {
	var b strings.Builder
	for at := 0; at < len(code); {
		if at == 0 || code[at-1] == '\n' {
			at += l.markName(&b, code[at:])
			if at >= len(code) {
				break
			}
		}
		class, n := l.token(code, at)
		if class == "" {
			b.WriteString(html.EscapeString(code[at : at+n]))
		} else {
			b.WriteString(`<span class="` + class + `">` + html.EscapeString(code[at:at+n]) + "</span>")
		}
		at += n
	}
	return b.String()
}

// markName marks the name at the start of a line, and returns the length of what it wrote.
func (l language) markName(b *strings.Builder, code string) int {
	if l.name == nil {
		return 0
	}
	line, _, _ := strings.Cut(code, "\n")
	found := l.name.FindStringSubmatchIndex(line)
	if found == nil {
		return 0
	}
	b.WriteString(html.EscapeString(line[:found[2]]) + `<span class="k">` + html.EscapeString(line[found[2]:found[3]]) + "</span>")
	return found[3]
}

var flag = regexp.MustCompile(`^--?[A-Za-z]`)

var variable = regexp.MustCompile(`^\$(?:\w+|\{[^}\n]*\}|[?$#@*!])`)

// token returns the class and the length of what begins at a place.
func (l language) token(code string, at int) (class string, n int) {
	rest, begins := code[at:], at == 0 || strings.IndexByte(" \n\t(", code[at-1]) >= 0
	for _, comment := range l.comments {
		if begins && strings.HasPrefix(rest, comment) {
			line, _, _ := strings.Cut(rest, "\n")
			return "c", len(line)
		}
	}
	switch {
	case strings.IndexByte(l.quotes, rest[0]) >= 0 && (at == 0 || !isWord(code[at-1])): // no apostrophe
		return "s", quoted(rest)
	case l.dollar && rest[0] == '$':
		if found := variable.FindString(rest); found != "" {
			return "v", len(found)
		}
	case l.flags && begins && flag.MatchString(rest):
		return "f", word(rest)
	case isWord(rest[0]):
		n := word(rest)
		if l.words[rest[:n]] {
			return "k", n
		}
		return "", n
	}
	return "", 1
}

// quoted is the length of a string: to its end, or to the end of the line if it has none.
func quoted(code string) int {
	for i := 1; i < len(code); i++ {
		switch {
		case code[i] == '\\' && code[0] == '"':
			i++
		case code[i] == code[0]:
			return i + 1
		}
	}
	line, _, _ := strings.Cut(code, "\n")
	return len(line)
}

// word is the length of a word. All bytes of a letter outside of ASCII belong to it.
func word(code string) int {
	for i := range len(code) {
		if !isWord(code[i]) {
			return max(i, 1)
		}
	}
	return len(code)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}
