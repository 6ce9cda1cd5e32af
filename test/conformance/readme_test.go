// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// upstream are the numbers of tofu-controller's tests.
const upstream = `000010 000011 000012 000013 000014 000015 000016 000020 000030 000031 000040 000041 000042 000043 000044
	000050 000051 000052 000053 000054 000060 000061 000062 000063 000064 000070 000071 000072 000073 000074 000075 000080 000081 000082
	000090 000100 000110 000111 000120 000121 000130 000131 000140 000150 000160 000170 000180 000190 000191 000200 000201 000210 000220
	000230 000240 000241 000242 000243 000260 000280 000281 000290 000300 000310 000311 000320 000330 000340 000350 000360 000361 000362
	009990`

// row is a row of a table whose last cell contains names of tests.
type row struct{ name, tests string }

// rows are the rows of the table below a heading.
func rows(t *testing.T, heading string) []row {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), heading+"\n")
	if !ok {
		t.Fatalf("README.md has no %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var out []row
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) == 3 && regexp.MustCompile(`^ \d+ $`).MatchString(cells[0]) {
			out = append(out, row{strings.TrimSpace(cells[0]), cells[2]})
		}
	}
	return out
}

func TestEveryBehaviourOfTofuControllersTestsHasACaseOrAReason(t *testing.T) {
	reasons := rows(t, "## Upstream tests without a case of their number")
	for _, number := range strings.Fields(upstream) {
		tried := slices.ContainsFunc(behaviours, func(b behaviour) bool { return strings.HasPrefix(b.name, number) })
		excused := slices.ContainsFunc(reasons, func(r row) bool { return r.name == number })
		if tried == excused {
			t.Errorf("%s: has a case: %t, has a reason to have none: %t", number, tried, excused)
		}
	}
	for _, r := range reasons {
		testsExist(t, r)
	}
}

func TestEveryPainHasATestThatShowsItGone(t *testing.T) {
	pains := rows(t, "## Reported problems")
	if len(pains) != 15 {
		t.Errorf("README.md lists %d pains, want 15", len(pains))
	}
	for _, p := range pains {
		if testsExist(t, p) == 0 {
			t.Errorf("pain %s has no test", p.name)
		}
	}
	for _, b := range behaviours {
		var number int
		if _, err := fmt.Sscanf(b.name, "pain_%d_", &number); err != nil {
			continue
		}
		if !strings.Contains(pains[number-1].tests, "`"+b.name+"`") {
			t.Errorf("README.md does not say that %s is about pain %d", b.name, number)
		}
	}
}

func TestNamesOfBehavioursAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range behaviours {
		if seen[b.name] {
			t.Errorf("two cases are called %s", b.name)
		}
		seen[b.name] = true
	}
}

// testsExist reports names of missing tests, and counts the others.
func testsExist(t *testing.T, r row) int {
	t.Helper()
	count := 0
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(r.tests, -1) {
		name := strings.Trim(quoted, "`")
		dir, test, elsewhere := strings.Cut(name, ".")
		switch {
		case elsewhere && testExists(t, dir, test), !elsewhere && slices.ContainsFunc(behaviours, func(b behaviour) bool { return b.name == name }):
			count++
		default:
			t.Errorf("README.md, %s: there is no test %s", r.name, name)
		}
	}
	return count
}

// testExists looks for a test function in a directory of the repository.
func testExists(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tofutest.RepositoryRoot(t), filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "func "+name+"(t *testing.T)")
	})
}
