// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

func TestCompareFindsWhatChanged(t *testing.T) {
	files := map[string]string{"main.tf": "a", "mod/x.tf": "b", "same.tf": "c", "gone.tf": "d", "link": "-> main.tf"}
	archive, digest, _ := pack(t, makeTree(t, files))
	parent := t.TempDir()
	dest, saved := filepath.Join(parent, "tree"), filepath.Join(parent, "manifest.json")
	manifest, err := Extract(t.Context(), bytes.NewReader(archive), dest, Limits{}, digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.Save(saved); err != nil {
		t.Fatal(err)
	}
	if manifest, err = LoadManifest(saved); err != nil || manifest.Digest != digest {
		t.Fatal(manifest.Digest, err)
	}
	info, err := os.Stat(filepath.Join(dest, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"main.tf": "A", "mod/new.tf": "n", ".terraform/x": "kept", "mod/terraform.tfstate": "kept",
	} {
		full := filepath.Join(dest, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The size is the same and the time was set back; it is found all the same.
	if err := os.Chtimes(filepath.Join(dest, "main.tf"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dest, "mod/x.tf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dest, "gone.tf")); err != nil {
		t.Fatal(err)
	}
	keep := func(name string) bool { return name == ".terraform" || strings.HasSuffix(name, ".tfstate") }
	got, err := Compare(dest, manifest, keep)
	if err != nil {
		t.Fatal(err)
	}
	want := Differences{Added: []string{"mod/new.tf"}, Changed: []string{"main.tf", "mod/x.tf"}, Removed: []string{"gone.tf"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.String() != "1 added, 2 changed, 1 removed, such as main.tf" {
		t.Error(got.String())
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.tf", i)), []byte("x"), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			manifest, err := Scan(dir, nil, 0)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if d, err := Compare(dir, manifest, nil); err != nil || !d.None() {
					b.Fatal(d, err)
				}
			}
		})
	}
}

func TestScanEndsAtItsLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range 11 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := Scan(dir, nil, 11); err != nil || len(m.Files) != 11 {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := Scan(dir, nil, 10); err == nil {
		t.Errorf("%v", m)
	}
}

// A program that fills the tree with names costs no more than a bound.
func TestCompareIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := Manifest{Files: map[string]Stat{"0": {}, "1": {}}}
	if d, err := compare(dir, m, nil, 8); err != nil || len(d.Added) != 8 {
		t.Errorf("%v %v", d, err)
	}
	var over *filetree.OverError
	if d, err := compare(dir, m, nil, 7); !errors.As(err, &over) {
		t.Errorf("%v %v", d, err)
	}
}
