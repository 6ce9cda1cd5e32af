// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func index(t *testing.T, archive []byte, change func(*IndexOptions)) (*Index, error) {
	t.Helper()
	o := IndexOptions{MaxFiles: 100, MaxKept: 1 << 20, Keep: func(name string) bool { return path.Ext(name) == ".tf" },
		Mark: func(text []byte) uint8 {
			if bytes.Contains(text, []byte("../")) {
				return 1
			}
			return 0
		}, Opaque: 2}
	change(&o)
	return ReadIndex(t.Context(), bytes.NewReader(archive), Limits{}, "", o)
}

func TestAnIndexTellsWhatAnArchiveHas(t *testing.T) {
	archive, _, _ := pack(t, makeTree(t, map[string]string{
		"a/main.tf": "x", "a/deep/t.txt": "../up", "a-b/main.tf": "y", "a.txt": "", "a/run.sh*": "", "a/l.tf": "-> main.tf",
		"a/binary": "\xff../", "a/long": strings.Repeat("../", 2<<20), "b": "b",
	}))
	x, err := index(t, archive, func(*IndexOptions) {})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	marked := map[string]uint8{}
	for _, f := range x.Below("a") {
		if !f.Dir {
			names = append(names, f.Name)
		}
		if f.Marked != 0 {
			marked[f.Name] = f.Marked
		}
	}
	if diff := cmp.Diff([]string{"a/binary", "a/deep/t.txt", "a/l.tf", "a/long", "a/main.tf", "a/run.sh"}, names); diff != "" {
		t.Errorf("below a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint8{"a/deep/t.txt": 1, "a/long": 2}, marked); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	if f, ok := x.Get("a/main.tf"); !ok || f.Sum != sha256.Sum256([]byte("x")) || f.Executable {
		t.Errorf("%+v, %v", f, ok)
	}
	if f, _ := x.Get("a/run.sh"); !f.Executable {
		t.Errorf("%+v", f)
	}
	if _, ok := x.Get("nowhere"); ok {
		t.Error("nowhere is found")
	}
	files, err := x.Select(".", 1<<20, func(name string) bool { return path.Dir(name) == "a" && path.Ext(name) == ".tf" })
	if diff := cmp.Diff(map[string][]byte{"a/main.tf": []byte("x"), "a/l.tf": []byte("x")}, files); diff != "" || err != nil {
		t.Errorf("%v, selected (-want +got):\n%s", err, diff)
	}
}

func TestLinksLeadToContent(t *testing.T) {
	archive, _, _ := pack(t, makeTree(t, map[string]string{
		"shared/x.tf": "x", "a/l.tf": "-> ../shared/x.tf", "a/ll.tf": "-> l.tf", "a/gone.tf": "-> nothing.tf", "a/loop.tf": "-> loop.tf", "a/text.tf": "-> ../b.txt", "b.txt": "b",
	}))
	x, err := index(t, archive, func(*IndexOptions) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"shared/x.tf": "x", "a/l.tf": "x", "a/ll.tf": "x", "a/gone.tf": "", "a/loop.tf": "", "a/text.tf": "", "nowhere.tf": ""} {
		if content, kept := x.Content(name); string(content) != want || kept != (want != "") {
			t.Errorf("%s: %q, %v", name, content, kept)
		}
	}
}

func TestAnIndexIsBounded(t *testing.T) {
	archive, _, _ := pack(t, makeTree(t, map[string]string{"a.tf": "", "b.tf": "", "c.tf": strings.Repeat("#", 1000)}))
	for sentence, change := range map[string]func(*IndexOptions){
		"files": func(o *IndexOptions) { o.MaxFiles = 2 },
		"bytes": func(o *IndexOptions) { o.MaxKept = 999 },
	} {
		if _, err := index(t, archive, change); !IsLimit(err) {
			t.Errorf("too many %s: %v", sentence, err)
		}
	}
	x, err := index(t, archive, func(o *IndexOptions) { o.MaxMarked = 999 })
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := x.Get("c.tf"); f.Marked != 2 {
		t.Errorf("more text than is looked at: %+v", f)
	}
	if _, err := index(t, archive[:len(archive)/2], func(*IndexOptions) {}); err == nil || IsLimit(err) {
		t.Errorf("half an archive: %v", err)
	}
	if IsLimit(errors.New("x")) {
		t.Error("any error is a limit")
	}
}
