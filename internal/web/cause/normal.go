// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"regexp"
	"slices"
	"strings"
)

// particulars are what differs between stacks with one problem, and what stands for it.
var particulars = []struct {
	is    *regexp.Regexp
	words string
}{
	{regexp.MustCompile("\"[^\"\n]*\"|`[^`\n]*`"), `"…"`},
	{regexp.MustCompile(`(^|\s)'[^'\n]*'`), ` "…"`},
	{regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s,;)\]]+`), "URL"},
	{regexp.MustCompile(`arn:[^\s,;)\]]+`), "ARN"},
	{regexp.MustCompile(`[^\s@]+@[^\s@]+\.[^\s@,;]+`), "…"},
	{regexp.MustCompile(`[\w.~-]*(/[\w.~-]+){2,}|(^|\s)/[\w.~-]+`), " PATH"},
}

// word matches what is replaced if it has a digit, or is a name of the stack.
var (
	word   = regexp.MustCompile(`[\pL\pN_]+([.:-][\pL\pN_]+)*`)
	status = regexp.MustCompile(`^[45]\d\d$`)
	spaces = regexp.MustCompile(`\s+`)
)

// maxText bounds a normalised text, in characters.
const maxText = 240

// normal replaces what differs between stacks: names, numbers, ids, paths and addresses. An HTTP
// status stays, because it says what is wrong.
func normal(text string, names []string) string {
	for _, p := range particulars {
		text = p.is.ReplaceAllString(text, p.words)
	}
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		switch {
		case status.MatchString(w):
			return w
		case strings.ContainsAny(w, "0123456789"):
			return "#"
		case slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, w) }):
			return "…"
		}
		return w
	})
	runes := []rune(strings.TrimSpace(spaces.ReplaceAllString(text, " ")))
	if len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return string(runes)
}
