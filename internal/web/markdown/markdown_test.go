// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestRender(t *testing.T) {
	for text, want := range map[string]string{
		"# Title\n\nA *network*.":          "<h2>Title</h2>\n<p>A <em>network</em>.</p>\n",
		"[x](https://example.com)":         `<p><a href="https://example.com" rel="nofollow noreferrer">x</a></p>` + "\n",
		"[x](javascript:alert(1))":         "<p>x</p>\n",
		"<script>alert(1)</script>":        "\n",
		"a <img src=x onerror=alert(1)> b": "<p>a  b</p>\n",
		"![p](https://example.com/p.png)":  "<p></p>\n",
		"```hcl\nx = \"<b>\"\n```":         "<pre><code>x = &#34;&lt;b&gt;&#34;\n</code></pre>\n",
		"|a|\n|-|\n|b|":                    "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n",
		"a\u202eb\x1b[31m":                 "<p>a\\u202eb\\u001b[31m</p>\n",
	} {
		if got := strings.ReplaceAll(string(Render(text)), "<!-- raw HTML omitted -->", ""); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"# a", "<svg/onload=alert(1)>", "[a](data:text/html,x)", "<a href='javascript:x'>", "<style>*{}</style>", "<p style='x' onclick=y>"} {
		f.Add(seed)
	}
	allowed := map[string]bool{"href": true, "rel": true}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := html.NewTokenizer(strings.NewReader(string(Render(text))))
		for tokens.Next() != html.ErrorToken {
			token := tokens.Token()
			if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
				continue
			}
			if token.Data == "script" || token.Data == "style" || token.Data == "img" || token.Data == "iframe" || token.Data == "form" {
				t.Fatalf("%q: <%s>", text, token.Data)
			}
			for _, a := range token.Attr {
				if !allowed[a.Key] || a.Key == "href" && !strings.HasPrefix(a.Val, "http") && !strings.HasPrefix(a.Val, "mailto:") {
					t.Fatalf("%q: %s=%q", text, a.Key, a.Val)
				}
			}
		}
	})
}
