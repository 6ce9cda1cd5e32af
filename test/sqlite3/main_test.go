// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestStatementsOfBothWaysInAreRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "with blank & more.db")
	do := func(input string, args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := run(t.Context(), append([]string{file}, args...), strings.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	do("CREATE TABLE tenants (id TEXT PRIMARY KEY, n INTEGER);\nINSERT INTO tenants VALUES ('a', 1), ('b', NULL);\n")
	do("", "INSERT INTO tenants VALUES ('c', 3)")
	if got, want := do("", "SELECT id, n FROM tenants ORDER BY id"), "a|1\nb|\nc|3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsNoSQLIsAnError(t *testing.T) {
	err := run(t.Context(), []string{filepath.Join(t.TempDir(), "x.db"), "INSERT INTO nowhere VALUES (1)"}, nil, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), nil, nil, nil); err == nil {
		t.Error("no file is no error")
	}
}
