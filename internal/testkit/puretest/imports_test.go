// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package puretest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pure.go":      "package decide\nimport (\n\"fmt\"\n\"time\"\n)\nvar x = fmt.Sprint(time.Duration(3) * time.Second)\n",
		"clock.go":     "package decide\nimport \"time\"\nvar now = time.Now()\n",
		"others.go":    "package decide\nimport (\n\"math/rand\"\n_ \"fmt\"\n)\nvar y = rand.Int()\n",
		"some_test.go": "package decide\nimport \"net/http\"\nvar z http.Client\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"clock.go uses time.Now; the time is a fact, use Facts.Now",
		`others.go imports "math/rand"; a decision may only depend on its facts, which are gathered elsewhere`,
		`others.go imports "fmt"; a decision may only depend on its facts, which are gathered elsewhere`,
	}
	if diff := cmp.Diff(want, problems(t, dir, []string{"fmt", "time"})); diff != "" {
		t.Error(diff)
	}
}
