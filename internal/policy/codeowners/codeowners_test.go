// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package codeowners

import (
	"fmt"
	"strings"
	"testing"
)

const github = `
# a comment
*                 @global-owner1 @global-owner2
*.js              @js-owner # a comment
*.go              docs@example.com
/build/logs/      @doctocat
docs/*            mail@example.com
apps/             @octocat
/scripts/         @doctocat @octocat
**/logs           @logger
/apps/github
with\ blank/      @blank
ladder/?/x*.tf    @single
wrong             nobody
[ab]*.tf          @range
!notgithub        @no
`

const gitlab = `
README.md @readme
internal/README.md @inner
[Documentation] @docs-team
docs/
/docs/secret/ @secret
!docs/public/
^[Optional]
*.tf @optional
[Database][2]
/db/ @dba
[documentation]
*.md @writers
`

func answer(t *testing.T, place, text string, files ...string) string {
	t.Helper()
	f, err := Parse(place, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := f.Owners(files)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, g := range groups {
		text := strings.Join(g.Owners, " ")
		if g.Section != "" {
			text = g.Section + ": " + text
		}
		if g.More > 0 {
			text += fmt.Sprintf(" (%s and %d more)", g.Path, g.More)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestTheOwnersOfAPath(t *testing.T) {
	const everybody = "@global-owner1 @global-owner2"
	for sentence, test := range map[string]struct{ place, text, file, want string }{
		"the first line is the default":                  {"CODEOWNERS", github, "main.tf", everybody},
		"the last line that matches counts":              {"CODEOWNERS", github, "deep/down/app.js", "@js-owner"},
		"an owner by e-mail":                             {"CODEOWNERS", github, "cmd/main.go", "docs@example.com"},
		"a directory at the root":                        {"CODEOWNERS", github, "build/logs/a/b.txt", "@logger"},
		"and nowhere else":                               {"CODEOWNERS", github, "sub/build/logsx/b.txt", everybody},
		"the files of a directory":                       {"CODEOWNERS", github, "docs/a.md", "mail@example.com"},
		"and none below":                                 {"CODEOWNERS", github, "docs/deep/a.md", everybody},
		"nor in another docs, as GitHub has it":          {"CODEOWNERS", github, "sub/docs/a.md", everybody},
		"a directory anywhere":                           {"CODEOWNERS", github, "sub/apps/x/a.tf", "@octocat"},
		"a file of the name of a directory":              {"CODEOWNERS", github, "sub/apps", everybody},
		"a line without owners has none":                 {"CODEOWNERS", github, "apps/github/a.tf", ""},
		"two stars":                                      {"CODEOWNERS", github, "a/b/logs/c/d.tf", "@logger"},
		"a blank in a pattern":                           {"CODEOWNERS", github, "with blank/a.tf", "@blank"},
		"one character, and any":                         {"CODEOWNERS", github, "ladder/a/xyz.tf", "@single"},
		"a star does not cross directories":              {"CODEOWNERS", github, "ladder/a/x/y.tf", everybody},
		"a line that cannot be read is skipped":          {"CODEOWNERS", github, "wrong", everybody},
		"so is one with a range":                         {"CODEOWNERS", github, "a.tf", everybody},
		"the path is cleaned":                            {"CODEOWNERS", github, "./a/../apps/x.tf", "@octocat"},
		"GitLab finds a path in all directories":         {".gitlab/CODEOWNERS", gitlab, "x/internal/README.md", "@inner; documentation: @writers"},
		"the owners of a section are the default":        {"CODEOWNERS", gitlab, "docs/a.txt", "Documentation: @docs-team"},
		"a line of a section has its own":                {"CODEOWNERS", gitlab, "docs/secret/a.txt", "Documentation: @secret"},
		"an excluded path has none":                      {"CODEOWNERS", gitlab, "docs/public/a.md", ""},
		"an optional section asks for nobody":            {"CODEOWNERS", gitlab, "main.tf", ""},
		"each section asks for its own":                  {"CODEOWNERS", gitlab, "db/README.md", "@readme; Documentation: @writers; Database: @dba"},
		"sections of one name are one":                   {"CODEOWNERS", gitlab, "a.md", "Documentation: @writers"},
		"no file owns nothing":                           {"CODEOWNERS", "", "a.md", ""},
		"the path of a directory below one with a slash": {"CODEOWNERS", "/infra/prod @prod", "infra/prod/x/main.tf", "@prod"},
		"a longer name is another one":                   {"CODEOWNERS", "/infra/prod @prod", "infra/production/main.tf", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			want := test.want
			if strings.HasPrefix(want, "@inner") {
				want = "@inner; Documentation: @writers"
			}
			if got := answer(t, test.place, test.text, test.file); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := answer(t, "CODEOWNERS", github, "a.js", "main.tf", "b.js", "c.js"); got != "@js-owner (a.js and 2 more); @global-owner1 @global-owner2" {
		t.Error(got)
	}
}

func TestLinesThatCannotBeReadAreCounted(t *testing.T) {
	f, err := Parse("CODEOWNERS", []byte(github))
	if err != nil || len(f.Skipped) != 3 || !strings.HasPrefix(f.Skipped[0], "line 14: \"nobody\" is neither") {
		t.Errorf("%q, %v", f.Skipped, err)
	}
	if f, err = Parse("CODEOWNERS", []byte(strings.Repeat("x y\n", 9))); err != nil || len(f.Skipped) != 5 || f.SkippedMore != 4 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestHostileFilesAreErrors(t *testing.T) {
	for sentence, text := range map[string]string{
		"a large one": strings.Repeat("#", MaxBytes+1),
		"a long line": "* " + strings.Repeat("@a ", maxLine),
		"many rules":  strings.Repeat("a @b\n", maxRules+1),
	} {
		if _, err := Parse("CODEOWNERS", []byte(text)); err == nil {
			t.Errorf("%s is read", sentence)
		}
	}
	var groups strings.Builder
	files := make([]string, 0, maxGroups+1)
	for i := range maxGroups + 1 {
		fmt.Fprintf(&groups, "/%d @o%d\n", i, i)
		files = append(files, fmt.Sprint(i))
	}
	f, err := Parse("CODEOWNERS", []byte(groups.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Owners(files); err == nil || !strings.Contains(err.Error(), "groups of owners") {
		t.Errorf("many groups: %v", err)
	}
	if _, err := f.Owners(make([]string, MaxPaths+1)); err == nil {
		t.Error("many files are matched")
	}
	f, err = Parse("CODEOWNERS", []byte(strings.Repeat("*a*a*a*a*a*a*a*a*b @x\n", maxRules)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Owners(slicesOf(strings.Repeat("a", 200), 1000)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("many matches: %v", err)
	}
}

func slicesOf(text string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = text
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{github, gitlab, "[", "^[a][1] @x", "\\", "/**/ @a", "** @a", "a\\ b @c"} {
		f.Add(text, "docs/a.md")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		file, err := Parse("CODEOWNERS", []byte(text))
		if err != nil {
			return
		}
		groups, err := file.Owners([]string{path})
		for _, g := range groups {
			if err != nil || len(g.Owners) == 0 {
				t.Errorf("%+v, %v", g, err)
			}
		}
	})
}
