// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checklists are the pages with a table of capabilities, and how many those have.
var checklists = map[string]int{"application-kinds.md": 25, "platforms.md": 41, "environments.md": 29}

var (
	// row is a number, a capability and its tests.
	row = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \|$`)
	// tested is a package and the names of its tests.
	tested = regexp.MustCompile("^`([a-z0-9/]+)`: (Test[A-Za-z0-9]+(?:, Test[A-Za-z0-9]+)*)$")
)

// Every capability of a checklist has a number, and tests that exist.
func TestCapabilitiesHaveTests(t *testing.T) {
	for name, capabilities := range checklists {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rows := row.FindAllStringSubmatch(string(text), -1)
		if len(rows) != capabilities {
			t.Errorf("%s has %d rows, want %d", name, len(rows), capabilities)
		}
		for i, r := range rows {
			if r[1] != fmt.Sprint(i+1) {
				t.Errorf("%s: row %d has the number %s", name, i+1, r[1])
			}
			for part := range strings.SplitSeq(r[3], "; ") {
				if problem := lacks(part); problem != "" {
					t.Errorf("%s: %s: %s", name, r[1], problem)
				}
			}
		}
	}
}

// lacks says which tests of a part of a row do not exist; empty for none.
func lacks(part string) string {
	m := tested.FindStringSubmatch(part)
	if m == nil {
		return fmt.Sprintf("%q is not a package with tests", part)
	}
	files, err := filepath.Glob(filepath.Join("..", m[1], "*_test.go"))
	if err != nil {
		return err.Error()
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		source.Write(text)
	}
	for name := range strings.SplitSeq(m[2], ", ") {
		if !strings.Contains(source.String(), "\nfunc "+name+"(t *testing.T) {") {
			return m[1] + " has no test " + name
		}
	}
	return ""
}

func TestAMissingTestIsFound(t *testing.T) {
	for part, missing := range map[string]bool{
		"`docs`: TestCapabilitiesHaveTests":                          false,
		"`docs`: TestCapabilitiesHaveTests, TestThatNobodyHas":       true,
		"`docs`: TestCapabilities":                                   true,
		"`docs/nowhere`: TestCapabilitiesHaveTests":                  true,
		"docs: TestCapabilitiesHaveTests":                            true,
		"`docs`: ":                                                   true,
		"`docs`: TestAMissingTestIsFound, TestCapabilitiesHaveTests": false,
	} {
		if problem := lacks(part); (problem != "") != missing {
			t.Errorf("%q: %q", part, problem)
		}
	}
}
