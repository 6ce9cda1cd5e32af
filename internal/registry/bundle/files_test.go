// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/bundle"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

const list = "sha256sum-amd64.txt"

// k3s is a file whose checksum is in a list beside it.
func k3s(server string) bundle.Fetch {
	return bundle.Fetch{Path: "k3s/v1+k3s1/k3s", URL: server + "/v1%2Bk3s1/k3s", Sums: server + "/v1%2Bk3s1/" + list}
}

// Files come from their URLs, from a mirror or from a directory, and are verified: nothing else is in the bundle.
func TestFilesOfModules(t *testing.T) {
	right := map[string]string{"k3s": "the program", list: sum("images") + "  k3s-airgap-images-amd64.tar.zst\n" + sum("the program") + " *k3s\n"}
	for sentence, test := range map[string]struct {
		files  map[string]string
		change func(*bundle.Fetch)
		fails  string
	}{
		"a list of checksums":          {right, nil, ""},
		"a declared checksum":          {map[string]string{"k3s": "the program"}, func(f *bundle.Fetch) { f.Sums, f.SHA256 = "", sum("the program") }, ""},
		"a declared one beside a list": {right, func(f *bundle.Fetch) { f.SHA256 = sum("another") }, "the one in declared is " + sum("another")},
		"a declared one, and no list":  {map[string]string{"k3s": "the program"}, func(f *bundle.Fetch) { f.SHA256 = sum("the program") }, ""},
		"a declared one, not listed":   {map[string]string{"k3s": "the program", list: ""}, func(f *bundle.Fetch) { f.SHA256 = sum("the program") }, list + " does not list k3s"},
		"another file":                 {map[string]string{"k3s": "another", list: right[list]}, nil, "its SHA-256 sum is " + sum("another")},
		"a list without it":            {map[string]string{"k3s": "the program", list: sum("x") + "  other\nnonsense\n"}, nil, list + " does not list k3s"},
		"no list":                      {map[string]string{"k3s": "the program"}, nil, list},
		"no file":                      {map[string]string{list: right[list]}, nil, "k3s"},
		"no checksum":                  {right, func(f *bundle.Fetch) { f.Sums = "" }, "declares neither sha256 nor sums"},
	} {
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			asked += r.URL.EscapedPath() + "\n"
			text, ok := test.files[filepath.Base(r.URL.Path)]
			if !ok {
				http.NotFound(out, r)
				return
			}
			out.Write([]byte(text)) //nolint:errcheck // the test finds out
		}))
		flat, mirror := t.TempDir(), t.TempDir()
		for name, text := range test.files {
			for _, path := range []string{filepath.Join(flat, name), filepath.Join(mirror, "k3s", "v1+k3s1", name)} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for from, c := range map[string]bundle.Content{"its URL": {}, "a mirror": {FilesURL: server.URL + "/inside/"}, "a directory": {FilesFrom: flat}, "a directory like a mirror": {FilesFrom: mirror}} {
			dir := t.TempDir()
			file := k3s(server.URL)
			if test.change != nil {
				test.change(&file)
			}
			if from == "a directory" && file.Sums != "" {
				continue // see TestAListOfChecksumsIsOfItsVersion
			}
			c.Files, asked = []bundle.Fetch{file}, ""
			err := bundle.Collect(t.Context(), c, dir, func(string, ...any) {})
			place := filepath.Join(dir, bundle.FileDir, "k3s", "v1+k3s1", "k3s")
			got, _ := os.ReadFile(place) //nolint:errcheck // it may not be there
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) || !strings.Contains(err.Error(), "bundle the file k3s/v1+k3s1/k3s") || string(got) == "another" {
					t.Errorf("%s, from %s: %q, %v", sentence, from, got, err)
				}
				continue
			}
			if err != nil || string(got) != "the program" || strings.HasPrefix(from, "a dir") && asked != "" || from == "a mirror" && !strings.Contains(asked, "/inside/k3s/v1%2Bk3s1/k3s") {
				t.Errorf("%s, from %s: %q, %v, asked for %s", sentence, from, got, err, asked)
			}
			asked = ""
			if err := bundle.Collect(t.Context(), c, dir, func(string, ...any) {}); err != nil || strings.Contains(asked, "/k3s\n") {
				t.Errorf("%s, again: %v, asked for %s", sentence, err, asked)
			}
		}
		server.Close()
	}
}

// Without a connection, the error says what to download, and how to give it.
func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	dir := t.TempDir()
	err := bundle.Collect(t.Context(), bundle.Content{Files: []bundle.Fetch{k3s("https://127.0.0.1:1")}, FilesFrom: dir}, t.TempDir(), func(string, ...any) {})
	if err == nil || !strings.Contains(err.Error(), dir+" does not have k3s/v1+k3s1/"+list+". Download it there from\n    https://127.0.0.1:1/v1%2Bk3s1/") {
		t.Error(err)
	}
	err = bundle.Collect(t.Context(), bundle.Content{Files: []bundle.Fetch{k3s("https://127.0.0.1:1")}}, t.TempDir(), func(string, ...any) {})
	if err == nil || !strings.Contains(err.Error(), "with --files, or a mirror with --files-url") {
		t.Error(err)
	}
}

// The names of k3s' files have no version: a list without its path would verify another version than the one that is packed.
func TestAListOfChecksumsIsOfItsVersion(t *testing.T) {
	flat := t.TempDir()
	write(t, flat, map[string]string{"k3s": "an older program", list: sum("an older program") + "  k3s\n"})
	collect := func(file bundle.Fetch) error {
		return bundle.Collect(t.Context(), bundle.Content{Files: []bundle.Fetch{file}, FilesFrom: flat}, t.TempDir(), func(string, ...any) {})
	}
	file := k3s("https://example.org")
	if err := collect(file); err == nil || !strings.Contains(err.Error(), "does not have k3s/v1+k3s1/"+list) {
		t.Errorf("from a directory with another version: %v", err)
	}
	file.SHA256 = sum("the program")
	if err := collect(file); err == nil || !strings.Contains(err.Error(), "the one in declared is") {
		t.Errorf("with a declared checksum, from a directory with another list: %v", err)
	}
	file.Sums = ""
	if err := collect(file); err == nil || !strings.Contains(err.Error(), "the one in declared is") {
		t.Errorf("another program with a declared checksum: %v", err)
	}
	file.SHA256 = sum("an older program")
	if err := collect(file); err != nil {
		t.Errorf("the program of the declared checksum: %v", err)
	}
}

// An attempt that was given up, for another version or with other charts, leaves nothing in the next bundle.
func TestABundleHasNothingOfAnEarlierAttempt(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"k3s/v1+k3s1/k3s": "the program", "k3s/v1+k3s1/" + list: sum("the program") + "  k3s\n", "new.tgz": "a chart"})
	write(t, dir, map[string]string{"files/k3s/v0/k3s": "older", "files/k3s/v0/k3s.part": "old", "files/k3s/v1+k3s1/k3s.part": "the", "charts/old.tgz": "a", "manifests/old.yaml": "a", "modules/old/main.tf": "a"})
	c := bundle.Content{Files: []bundle.Fetch{k3s("https://example.org")}, FilesFrom: from, Charts: []string{filepath.Join(from, "new.tgz")}}
	if err := bundle.Collect(t.Context(), c, dir, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	if want := []string{"charts/new.tgz", "files/k3s/v1+k3s1/k3s", "files/k3s/v1+k3s1/" + list}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
}

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// A declared checksum needs no list: a bundle has none then, not even that of an earlier attempt, and the command says so.
func TestADeclaredChecksumNeedsNoList(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"k3s": "the program"})
	write(t, dir, map[string]string{"files/k3s/v1+k3s1/" + list: "of an earlier attempt"})
	file, told := k3s("https://example.org"), ""
	file.SHA256 = sum("the program")
	err := bundle.Collect(t.Context(), bundle.Content{Files: []bundle.Fetch{file}, FilesFrom: from}, dir, func(format string, args ...any) { told += fmt.Sprintf(format, args...) + "\n" })
	if err != nil || !strings.Contains(told, "no list of checksums k3s/v1+k3s1/"+list) || !strings.Contains(told, "verified with the checksum of declared") {
		t.Errorf("%v, told %q", err, told)
	}
	if _, err := os.Lstat(filepath.Join(dir, "files", "k3s", "v1+k3s1", list)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list of an earlier attempt is there: %v", err)
	}
}
