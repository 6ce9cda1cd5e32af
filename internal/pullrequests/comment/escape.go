// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLink leaves room for the rest of the smallest comment.
const maxLink = 600

// gap is invisible and ends a mention: forges look for @ and a letter.
const gap = "\u200b"

// visible replaces characters that are not printed, or that change how others are, by escapes.
func visible(text string, keep string) string {
	var out strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case strings.ContainsRune(keep, r), r == ' ', unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !hides(r):
			out.WriteRune(r)
		case unicode.Is(unicode.Zs, r):
			out.WriteByte(' ')
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

// hides reports whether a character that counts as graphic shows nothing: fillers of Hangul, variation selectors, and
// the braille blank.
func hides(r rune) bool {
	return r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800 || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef
}

// clean is text on one line, without what ends code.
func clean(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	text = visible(text, "")
	return strings.ReplaceAll(strings.ReplaceAll(text, "`", "ʼ"), "@", "@"+gap)
}

// code is a span of code.
func code(text string, most int) string {
	text = clean(text, most)
	if text == "" {
		return "` `"
	}
	return "`" + text + "`"
}

// cell is a span of code in a table, where a bar would end the cell even in code. Backslashes before it would escape
// the escape.
func cell(text string, most int) string {
	return strings.ReplaceAll(code(text, most), "|", "¦")
}

// htmlCode is code in HTML, for summaries, in which Markdown is not rendered everywhere.
func htmlCode(text string, most int) string {
	return "<code>" + html.EscapeString(clean(text, most)) + "</code>"
}

var backticks = regexp.MustCompile("`+")

// block is a block of code, with a fence that the text does not contain.
func block(language, text string) string {
	text = strings.TrimRight(visible(text, "\n\t"), "\n ")
	fence := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	return fence + language + "\n" + text + "\n" + fence + "\n"
}

// link is a link to a page of ours. Other addresses are left out.
func link(text, address string) string {
	if target := target(address); target != "" {
		return "[" + text + "](" + target + ")"
	}
	return ""
}

func target(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return ""
	}
	text := strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "`", "%60", "|", "%7C", "@", "%40", "*", "%2A", "_", "%5F", "\\", "%5C").Replace(u.String())
	if len(text) > maxLink {
		return ""
	}
	return text
}

var notMarker = regexp.MustCompile(`[^A-Za-z0-9:./_-]|--`)

// mark is the text by which a report's comment is found.
func (r Report) mark() string { return notMarker.ReplaceAllString(r.Marker, "-") }

// Mark returns the text that comments of a marker contain.
func Mark(marker string) string { return Report{Marker: marker}.mark() }

// hidden is the marker where nobody sees it.
func hidden(mark string, s Style) string {
	if s.Hidden {
		return "<!-- " + mark + " -->\n"
	}
	return "[//]: # (" + mark + ")\n\n"
}
