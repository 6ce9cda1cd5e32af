// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	cases := map[string]struct {
		in   Diagnostic
		want string
	}{
		"a place, a snippet and a mark below the culprit": {
			in: Diagnostic{
				Severity: Error, Summary: "Reference to undeclared resource", Detail: "There is no such resource.",
				File: "bad.tf", Line: 2, Column: 11,
				Snippet: &Snippet{Context: `resource "terraform_data" "c"`, Code: "  input = nope.foo", StartLine: 2, HighlightStart: 10, HighlightEnd: 18},
			},
			want: "Error: Reference to undeclared resource\n\n" +
				"  on bad.tf line 2, in resource \"terraform_data\" \"c\":\n" +
				"   2:   input = nope.foo\n" +
				"                ^^^^^^^^\n" +
				"\nThere is no such resource.\n",
		},
		"a warning without a place": {
			in:   Diagnostic{Severity: Warning, Summary: "Values for undeclared variables"},
			want: "Warning: Values for undeclared variables\n",
		},
		"an address and known values": {
			in: Diagnostic{
				Severity: Error, Summary: "Bad", Address: "module.a.x.y", File: "a.tf", Line: 1,
				Snippet: &Snippet{Code: "x", StartLine: 1, Values: []Value{{"var.x", "is a string"}}},
			},
			want: "Error: Bad\n\n  with module.a.x.y,\n  on a.tf line 1:\n   1: x\n    ├────────────────\n    │ var.x is a string\n",
		},
		"a highlight over two lines is marked on both": {
			in: Diagnostic{
				Severity: Error, Summary: "Bad", File: "a.tf", Line: 1,
				Snippet: &Snippet{Code: "ab\ncd", StartLine: 1, HighlightStart: 1, HighlightEnd: 4},
			},
			want: "Error: Bad\n\n  on a.tf line 1:\n   1: ab\n       ^\n   2: cd\n      ^\n",
		},
		"escape sequences do not reach the terminal": {
			in:   Diagnostic{Severity: Error, Summary: "a\x1b[2Jb"},
			want: "Error: a\\u001b[2Jb\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.in.Format(Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStringIsOneLine(t *testing.T) {
	d := Diagnostic{Severity: Error, Summary: "Bad", Detail: "First\nline.\n\nSecond paragraph.", File: "a.tf", Line: 3}
	if got, want := d.String(), "a.tf:3: Bad: First line."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyErrorsMakeAnError(t *testing.T) {
	if err := (List{{Severity: Warning, Summary: "w"}}).AsError(); err != nil {
		t.Errorf("a warning became an error: %v", err)
	}
	err := List{{Severity: Warning, Summary: "w"}, {Severity: Error, Summary: "e"}}.AsError()
	if err == nil || err.Error() != "Error: e" {
		t.Errorf("got %v", err)
	}
}
