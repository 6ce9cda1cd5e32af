// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package colour

import (
	"html"
	"regexp"
	"testing"
)

func TestHTML(t *testing.T) {
	for name, c := range map[string]struct{ language, code, want string }{
		"a language that is not known": {"cobol", "a < b", "a &lt; b"},
		"a command":                    {"sh", "yuba plan \"$NAME\" --wait # now\n", `yuba plan <span class="s">&#34;$NAME&#34;</span> <span class="f">--wait</span> <span class="c"># now</span>` + "\n"},
		"a variable":                   {"sh", "echo $HOME/${A}", `echo <span class="v">$HOME</span>/<span class="v">${A}</span>`},
		"a prompt and what it printed": {"console", "$ yuba list\nNAME 'x\n", `<span class="p">$ </span>yuba list` + "\n" + `<span class="o">NAME &#39;x</span>` + "\n"},
		"a command of two lines":       {"console", "$ a \\\n  -b\nc\n", `<span class="p">$ </span>a \` + "\n" + `  <span class="f">-b</span>` + "\n" + `<span class="o">c</span>` + "\n"},
		"commands without prompts":     {"console", "yuba -x\n", `yuba <span class="f">-x</span>` + "\n"},
		"keys":                         {"yaml", "spec:\n  - name: a # b\n", `<span class="k">spec</span>:` + "\n  - " + `<span class="k">name</span>: a <span class="c"># b</span>` + "\n"},
		"a block":                      {"hcl", `variable "a" {`, `<span class="k">variable</span> <span class="s">&#34;a&#34;</span> {`},
		"a string without an end":      {"hcl", "a = \"b\nc", `<span class="k">a</span> = <span class="s">&#34;b</span>` + "\nc"},
		"words":                        {"sql", "SELECT a -- b", `<span class="k">SELECT</span> a <span class="c">-- b</span>`},
		"nothing":                      {"yaml", "", ""},
	} {
		if got := HTML(c.language, c.code); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

var tag = regexp.MustCompile(`</?span[^>]*>`)

// FuzzHTML checks that no text is lost or added.
func FuzzHTML(f *testing.F) {
	for name := range languages {
		f.Add(name, "a: \"b # ${c\n-- 'é\\")
	}
	f.Add("console", "$ a\nb")
	f.Fuzz(func(t *testing.T, name, code string) {
		if got := html.UnescapeString(tag.ReplaceAllString(HTML(name, code), "")); got != html.UnescapeString(html.EscapeString(code)) {
			t.Errorf("%q became %q", code, got)
		}
	})
}
