// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestTheAddressOfAPerson(t *testing.T) {
	for person, want := range map[string]string{
		"Ann <ann@example.org> 1700000000 +0100": "ann@example.org",
		"Ann < ann@example.org > 1 +0000":        "ann@example.org",
		"<ann@example.org> 1 +0000":              "ann@example.org",
		"Ann <> 1 +0000":                         "",
		"Ann ann@example.org 1 +0000":            "",
		"Ann <ann@example.org":                   "",
		"Ann <ann@example.org,bob@example.org>":  "",
		"":                                       "",
	} {
		if got := email(person); got != want {
			t.Errorf("%q: %q, want %q", person, got, want)
		}
	}
}

func TestTheAuthorsOfACommitAreKnownOnceItIsFetched(t *testing.T) {
	r := gittest.New(t).Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "m"})
	m := open(t, Options{})
	found, err := m.Look(t.Context(), Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Authors(t.Context()); len(got) > 0 {
		t.Errorf("before the fetch: %q", got)
	}
	if err := found.Fetch(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := found.Authors(t.Context()); !slices.Equal(got, []string{"test@example.com"}) {
		t.Errorf("after the fetch: %q", got)
	}
	if got := found.Parent(t.Context()); got != "" {
		t.Errorf("the first commit follows %q", got)
	}
	r.Commit(t, "second", gittest.Files{"main.tf": "n"})
	next, err := m.Look(t.Context(), Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Fetch(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := next.Parent(t.Context()); got != found.Commit {
		t.Errorf("the second commit follows %q, want %q", got, found.Commit)
	}
}
