// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxPicture bounds a picture, in bytes.
const maxPicture = 120_000

var (
	// shownPicture matches a picture on a page, writtenPicture one that the walk through all pages writes.
	shownPicture   = regexp.MustCompile(`!\[[^\]]*\]\(([^)\s]+)\)`)
	writtenPicture = regexp.MustCompile(`": "([a-z-]+)"`)
)

// Pages show pictures that exist, and "make screenshots" writes all of them.
func TestPicturesAreThoseThatTestsWrite(t *testing.T) {
	shown := map[string]bool{}
	for _, p := range everyPage(t) {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range shownPicture.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				t.Errorf("%s shows a picture of another site: %s", p, match[1])
				continue
			}
			file := filepath.Join(filepath.Dir(p), match[1])
			info, err := os.Stat(file)
			if err != nil {
				t.Errorf("%s: %v. To write the pictures:\n    make screenshots", p, err)
				continue
			}
			if info.Size() > maxPicture {
				t.Errorf("%s has %d bytes, more than %d", file, info.Size(), maxPicture)
			}
			shown[filepath.Base(file)] = true
		}
	}
	walk, err := os.ReadFile("../test/web/walk_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(walk), "var pictures = map[string]string{")
	if !found {
		t.Fatal("test/web/walk_test.go has no list of pictures")
	}
	list, _, _ = strings.Cut(list, "\n}")
	written := map[string]bool{}
	for _, match := range writtenPicture.FindAllStringSubmatch(list, -1) {
		written[match[1]+".png"] = true
	}
	there := map[string]bool{}
	files, err := os.ReadDir("pictures")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		there[file.Name()] = true
	}
	want := slices.Sorted(maps.Keys(written))
	for what, got := range map[string]map[string]bool{"pages show": shown, "docs/pictures has": there} {
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%s %v, and the tests write %v", what, names, want)
		}
	}
}

// everyPage lists the README and all pages of the docs.
func everyPage(t *testing.T) []string {
	t.Helper()
	pages := []string{"../README.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
