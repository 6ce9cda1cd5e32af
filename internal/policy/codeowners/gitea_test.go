// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package codeowners

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGitea(t *testing.T) {
	const text = `# owners
.*\.tf @ops  # all programs
stacks/net/.* @alice @acme/network
!stacks/.* @bob
(((broken @eve
docs/.*
`
	f, err := ParseGitea([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"stacks/net/main.tf":   {"@acme/network", "@alice", "@ops"},
		"./stacks/net/x.txt":   {"@acme/network", "@alice"},
		"modules/a/main.tf":    {"@bob", "@ops"},
		"docs/a.md":            {"@bob"},
		"stacks/other/x.txt":   nil,
		"prefix/stacks/net/a ": {"@bob"},
	} {
		groups, err := f.Owners([]string{file})
		var got []string
		if len(groups) > 0 {
			got = groups[0].Owners
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", file, err, diff)
		}
	}
	if len(f.Skipped) != 1 || !strings.Contains(f.Skipped[0], "regular expression") {
		t.Errorf("skipped are %q", f.Skipped)
	}
	if groups, err := f.Owners([]string{"a.tf", "b.tf", "stacks/net/c.tf"}); err != nil || len(groups) != 2 || groups[0].More != 1 {
		t.Errorf("groups are %+v, %v", groups, err)
	}
}

func TestGiteaFilesAreLimited(t *testing.T) {
	for sentence, text := range map[string]string{
		"a large file":   strings.Repeat("#\n", MaxBytes),
		"a long line":    strings.Repeat("a", maxLine+1) + " @a",
		"too many rules": strings.Repeat("a @a\n", maxRules+1),
	} {
		if _, err := ParseGitea([]byte(text)); err == nil {
			t.Errorf("%s is read", sentence)
		}
	}
	f, err := ParseGitea([]byte(strings.Repeat("(a|aa)+ @a\n", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Owners(make([]string, 1000)); err == nil {
		t.Error("a million matches are made")
	}
}
