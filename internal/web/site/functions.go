// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

//go:embed views/*.html
var frames embed.FS

// functions are what templates can call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"ago":      func(at any) template.HTML { return ago(at, s.Now()) },
		"plain":    diagnostic.Printable,
		"path":     Path,
		"initials": initials,
		"tint":     tint,
		"count":    count,
		"revision": shorten.Revision,
		"dict":     dict,
		"join":     strings.Join,
		"lines":    func(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") },
	}
}

// Path joins segments to an address of this site: each is one segment, whatever it contains.
func Path(segments ...string) string {
	var b strings.Builder
	for _, segment := range segments {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}

// ago is a time, relative to now. The browser shows the absolute time on hover, and keeps the
// relative one current.
func ago(at any, now time.Time) template.HTML {
	t, ok := timeOf(at)
	if !ok {
		return "–"
	}
	absolute := t.UTC().Format("2006-01-02 15:04:05 UTC")
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.UTC().Format(time.RFC3339), absolute, Relative(t, now))) //nolint:gosec // digits and fixed words
}

func timeOf(at any) (time.Time, bool) {
	switch at := at.(type) {
	case time.Time:
		return at, !at.IsZero()
	case *time.Time:
		if at != nil {
			return *at, !at.IsZero()
		}
	case metav1.Time:
		return at.Time, !at.IsZero()
	case *metav1.Time:
		if at != nil {
			return at.Time, !at.IsZero()
		}
	}
	return time.Time{}, false
}

// Relative is a time in words: "just now", "5 min ago", "in 2 h". The script of the site has the same
// words.
func Relative(t, now time.Time) string {
	d := now.Sub(t)
	words := "%s ago"
	if d < 0 {
		d, words = -d, "in %s"
	}
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf(words, fmt.Sprintf("%d s", int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf(words, fmt.Sprintf("%d min", int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf(words, fmt.Sprintf("%d h", int(d.Hours())))
	}
	return fmt.Sprintf(words, fmt.Sprintf("%d d", int(d.Hours()/24)))
}

// initials are one or two letters for an avatar.
func initials(name string) string {
	name, _, _ = strings.Cut(name, "@")
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	letters := ""
	for _, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		letters += string(unicode.ToUpper(first))
		if utf8.RuneCountInString(letters) == 2 {
			break
		}
	}
	if letters == "" {
		return "?"
	}
	return letters
}

// tints is the number of colours that the stylesheet has for avatars.
const tints = 8

// tint chooses a colour for a name, always the same one.
func tint(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name)) //nolint:errcheck // never fails
	return int(h.Sum32() % tints)
}

// count is a number with its noun: count 1 "stack" is "1 stack".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped is a number with a thin space between each three digits.
func Grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text
}

// dict makes data for a template of pairs of names and values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: %d arguments, and not pairs", len(pairs))
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is not a name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}
