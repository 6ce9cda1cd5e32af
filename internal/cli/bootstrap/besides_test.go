// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The parts of a bundle are beside a new home, in one that exists, or else where temporary files are.
func TestPlacesForThePartsOfABundle(t *testing.T) {
	for sentence, c := range map[string]struct {
		// home is below the test's directory, which has the directories parent and parent/home, and is the working directory if that is ".".
		home string
		full bool
		want string
	}{
		"beside a new home":                     {home: "parent/home", want: "parent"},
		"in a home that is used":                {home: "parent/home", full: true, want: "parent/home"},
		"beside the directory that is the home": {home: ".", want: "parent"},
		"a parent that cannot have it":          {home: "parent/file/home", want: "tmp"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"parent/home", "tmp"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			// A file in the place of a directory refuses root, too.
			files := []string{"parent/file"}
			if c.full {
				files = append(files, "parent/home/data")
			}
			for _, name := range files {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
			home := filepath.Join(dir, c.home)
			if c.home == "." {
				t.Chdir(filepath.Join(dir, "parent", "home"))
				home = c.home
			}
			made, clean, err := besides(home)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(made) != filepath.Join(dir, c.want) {
				t.Errorf("the parts are in %s, want %s", made, c.want)
			}
			clean()
			if _, err := os.Lstat(made); !os.IsNotExist(err) {
				t.Errorf("they are left: %v", err)
			}
		})
	}
}

// Parts of a command that was killed are removed by the next one, and those of a command that runs are not.
func TestThePartsOfKilledCommandsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	left, other := filepath.Join(dir, partsPrefix+"1", "modules"), filepath.Join(dir, ".bundle-of-others")
	for _, name := range []string{left, other} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	first, cleanFirst, err := besides(home)
	if err != nil {
		t.Fatal(err)
	}
	_, cleanSecond, err := besides(home)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{left: false, other: true, first: true} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	cleanSecond()
	cleanFirst()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || strings.HasPrefix(entries[0].Name(), partsPrefix) {
		t.Errorf("%v %v are left", entries, err)
	}
}
