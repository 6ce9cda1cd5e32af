// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package markdown turns the Markdown of strangers, such as READMEs of modules, into HTML that can do no
// harm: raw HTML in it is text, and of what is left only elements and attributes of a short list stay.
// There are no pictures, styles, forms or scripts, and links lead to https, http and mailto only.
package markdown

import (
	"bytes"
	"html/template"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// most limits the text. The rest is cut off.
const most = 256 << 10

var tools = sync.OnceValues(func() (goldmark.Markdown, *bluemonday.Policy) {
	p := bluemonday.NewPolicy()
	p.AllowElements("h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify)), p
})

// lower makes room for the page's own headings: its title is the only one of the first level.
var lower = strings.NewReplacer("<h5>", "<h6>", "</h5>", "</h6>", "<h4>", "<h5>", "</h4>", "</h5>", "<h3>", "<h4>", "</h3>", "</h4>",
	"<h2>", "<h3>", "</h2>", "</h3>", "<h1>", "<h2>", "</h1>", "</h2>")

// Render returns Markdown as HTML.
func Render(text string) template.HTML {
	converter, policy := tools()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n\n…"
	}
	var out bytes.Buffer
	if err := converter.Convert([]byte(diagnostic.Printable(text)), &out); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // it is escaped
	}
	return template.HTML(policy.Sanitize(lower.Replace(out.String()))) //nolint:gosec // bluemonday has just sanitised it
}
