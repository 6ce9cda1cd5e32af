// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runlog

import (
	"html/template"
	"regexp"
	"strings"

	terminal "github.com/buildkite/terminal-to-html/v3"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// style matches escape sequences that set colours and styles. All others move the cursor, open links
// or load pictures, and have no business in a log.
var style = regexp.MustCompile("\x1b\\[[0-9;]{0,64}m")

// HTML is a text with its colours. Everything else in it is text, whatever it looks like.
func HTML(text string) template.HTML {
	if !strings.Contains(text, "\x1b") {
		return template.HTML(template.HTMLEscapeString(diagnostic.Printable(text))) //nolint:gosec // it is escaped
	}
	var b strings.Builder
	last := 0
	for _, at := range style.FindAllStringIndex(text, -1) {
		b.WriteString(diagnostic.Printable(text[last:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		last = at[1]
	}
	b.WriteString(diagnostic.Printable(text[last:]))
	return template.HTML(terminal.Render([]byte(b.String()))) //nolint:gosec // the library escapes text, and gets no sequence that makes links or pictures
}
