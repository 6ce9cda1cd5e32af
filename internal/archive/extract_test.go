// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forge makes an archive that Pack would not make.
func forge(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for _, h := range headers {
		body := "content"
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func TestExtractIsTheReverseOfPack(t *testing.T) {
	files := map[string]string{
		"main.tf": "a", "mod/deep/x.tf": "b", "run.sh*": "#!/bin/sh", "mod/link": "-> ../main.tf",
		"dirlink": "-> mod/deep", strings.Repeat("long/", 60) + "name": "c", "ünïcode ☂": "d", "empty": "",
	}
	archive, digest, _ := pack(t, makeTree(t, files))
	dest := filepath.Join(t.TempDir(), "tree")
	manifest, err := Extract(t.Context(), bytes.NewReader(archive), dest, Limits{}, digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, contents(t, dest)); diff != "" {
		t.Error(diff)
	}
	if d, err := Compare(dest, manifest, nil); err != nil || !d.None() {
		t.Errorf("%v %v", d, err)
	}
	if again, digestAgain, _ := pack(t, dest); digestAgain != digest || !bytes.Equal(again, archive) {
		t.Error("packing what was extracted gives another archive")
	}
}

func TestExtractRefuses(t *testing.T) {
	valid := forge(t, file("main.tf"))
	cases := map[string]struct {
		archive []byte
		want    string
	}{
		"a path that leaves the directory":   {forge(t, file("a"), file("../evil")), `entry "../evil": the path leaves the directory`},
		"one that leaves midway":             {forge(t, file("a/../../evil")), "leaves the directory"},
		"an absolute path":                   {forge(t, file("/tmp/evil")), "absolute"},
		"a backslash":                        {forge(t, file(`..\evil`)), "backslash"},
		"a link to an absolute path":         {forge(t, link("l", "/etc")), `entry "l": a link's target must be a relative path`},
		"a link that leaves":                 {forge(t, link("a/l", "../..")), "the link leaves the directory"},
		"a chain of links that leaves":       {forge(t, link("d", "."), link("e", "d/d/../../..")), "the link leaves the directory"},
		"a file written through a link":      {forge(t, file("x/y"), link("l", "x"), file("l/evil")), `below "l", which is not a directory`},
		"a file below a file":                {forge(t, file("x"), file("x/y")), `below "x"`},
		"a file in place of a link":          {forge(t, link("l", "x"), file("l")), "twice"},
		"a link in place of a directory":     {forge(t, file("x/y"), link("x", "z")), "twice"},
		"a name that comes twice":            {forge(t, file("x"), file("./x")), "twice"},
		"a hard link":                        {forge(t, file("x"), tar.Header{Typeflag: tar.TypeLink, Name: "y", Linkname: "x"}), "hard links"},
		"a device":                           {forge(t, tar.Header{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}), `entry "null": devices`},
		"a block device":                     {forge(t, tar.Header{Typeflag: tar.TypeBlock, Name: "sda"}), "devices"},
		"a pipe":                             {forge(t, tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}), "pipes"},
		"something that is no archive":       {[]byte("<html>not found</html>"), "not a valid gzipped tar archive"},
		"an archive that ends early":         {valid[:len(valid)-10], "not a valid gzipped tar archive"},
		"nothing":                            {nil, "not a valid gzipped tar archive"},
		"something behind the archive's end": {append(valid[:len(valid):len(valid)], "junk"...), "not a valid gzipped tar archive"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, err := Extract(t.Context(), bytes.NewReader(c.archive), filepath.Join(parent, "tree"), Limits{}, "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			nothingIsLeft(t, parent)
		})
	}
}

func nothingIsLeft(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestADigestThatIsWrongLeavesTheOldTree(t *testing.T) {
	parent := t.TempDir()
	dest := filepath.Join(parent, "tree")
	one, digestOne, _ := pack(t, makeTree(t, map[string]string{"main.tf": "1", "gone": "x"}))
	two, digestTwo, _ := pack(t, makeTree(t, map[string]string{"main.tf": "2"}))
	if _, err := Extract(t.Context(), bytes.NewReader(one), dest, Limits{}, digestOne); err != nil {
		t.Fatal(err)
	}
	var wrong *DigestError
	if _, err := Extract(t.Context(), bytes.NewReader(two), dest, Limits{}, digestOne); !errors.As(err, &wrong) || wrong.Got != digestTwo {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(map[string]string{"main.tf": "1", "gone": "x"}, contents(t, dest)); diff != "" {
		t.Error(diff)
	}
	// What a killed extraction left is cleared away by the next.
	if err := os.MkdirAll(filepath.Join(parent, ".tree.extract-1", "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(t.Context(), bytes.NewReader(two), dest, Limits{}, digestTwo); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"main.tf": "2"}, contents(t, dest)); diff != "" {
		t.Error(diff)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// bomb is an archive with one file of zeros.
func bomb(t testing.TB, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range size / int64(len(zeros)) {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sparseBomb is an archive of some hundred bytes with one file that consists
// of a hole, millions of times the archive's size.
func sparseBomb(t testing.TB, size int64) []byte {
	t.Helper()
	var plain, out bytes.Buffer
	w := tar.NewWriter(&plain)
	data := make([]byte, 512) // the map of the file: no data anywhere
	copy(data, fmt.Sprintf("1\n%d\n0\n", size))
	// The writer does not write sparse files, so its output is changed.
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "hole", Size: 512, Mode: 0o644, PAXRecords: map[string]string{
		"ABC.sparse.major": "1", "ABC.sparse.minor": "0", "ABC.sparse.name": "hole", "ABC.sparse.realsize": fmt.Sprint(size),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gz := gzip.NewWriter(&out)
	if _, err := gz.Write(bytes.ReplaceAll(plain.Bytes(), []byte("ABC.sparse"), []byte("GNU.sparse"))); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestExtractIsBounded(t *testing.T) {
	many := make([]tar.Header, 20)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%d", i))
	}
	cases := map[string]struct {
		archive []byte
		limits  Limits
		what    string
	}{
		"a thousand times its packed size":     {bomb(t, 64<<20), Limits{}, "the expansion of the archive"},
		"ten thousand times, by a sparse file": {sparseBomb(t, 64<<20), Limits{}, "expansion of the archive"},
		"more bytes than allowed":              {bomb(t, 2<<20), Limits{MaxUnpacked: 1 << 20}, "the size of all files"},
		"a larger archive than allowed":        {forge(t, many...), Limits{MaxPacked: 100}, "the archive's size"},
		"more entries than allowed":            {forge(t, many...), Limits{MaxEntries: 10}, "the number of entries"},
		"more directories than allowed":        {forge(t, file(strings.Repeat("d/", 100)+"x")), Limits{MaxEntries: 10}, "the number of directories"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var limit *LimitError
			parent := t.TempDir()
			_, err := Extract(t.Context(), bytes.NewReader(c.archive), filepath.Join(parent, "tree"), c.limits, "")
			if !errors.As(err, &limit) || !strings.Contains(fmt.Sprint(err), c.what) {
				t.Errorf("%v", err)
			}
			nothingIsLeft(t, parent)
		})
	}
}

func TestFilesReadsAModuleFromItsArchive(t *testing.T) {
	archive, digest, _ := pack(t, makeTree(t, map[string]string{
		"stack/main.tf": "m", "stack/shared.tf": "-> ../shared/s.tf", "shared/s.tf": "s", "shared/big.bin": strings.Repeat("x", 5000),
	}))
	keep := func(name string) bool { return strings.HasSuffix(path.Base(name), ".tf") }
	files, err := Files(t.Context(), bytes.NewReader(archive), Limits{}, digest, 1000, keep)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"stack/main.tf": []byte("m"), "stack/shared.tf": []byte("s"), "shared/s.tf": []byte("s")}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	var limit *LimitError
	if _, err := Files(t.Context(), bytes.NewReader(archive), Limits{}, digest, 1, keep); !errors.As(err, &limit) || limit.Limit != 1 {
		t.Errorf("%v", err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(forge(f, file("a/b"), link("l", "a"), file("c")))
	f.Add(forge(f, link("l", ".."), file("l/evil")))
	f.Add(sparseBomb(f, 1<<20))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, archive []byte) {
		for _, content := range [][]byte{archive, regzip(archive)} {
			parent := t.TempDir()
			dest := filepath.Join(parent, "inner", "tree")
			if err := os.Mkdir(filepath.Dir(dest), 0o700); err != nil {
				t.Fatal(err)
			}
			limits := Limits{MaxUnpacked: 1 << 20, MaxEntries: 100}
			if _, err := Extract(t.Context(), bytes.NewReader(content), dest, limits, ""); err == nil {
				staysInside(t, dest)
			}
			if entries, _ := os.ReadDir(parent); len(entries) != 1 {
				t.Fatalf("written outside: %v", entries)
			}
		}
	})
}

// regzip packs bytes that the fuzzer made, so that it reaches tar.
func regzip(b []byte) []byte {
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	gz.Write(b) // a buffer takes everything
	gz.Close()
	return out.Bytes()
}

// staysInside follows every link and expects it to lead into the tree or
// nowhere.
func staysInside(t *testing.T, dest string) {
	t.Helper()
	err := filepath.WalkDir(dest, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() && d.Type() != os.ModeSymlink {
			t.Errorf("%s is a %s", name, d.Type())
		}
		real, err := filepath.EvalSymlinks(name)
		if err == nil && real != dest && !strings.HasPrefix(real, dest+"/") {
			t.Errorf("%s leads to %s", name, real)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestExtractPart(t *testing.T) {
	var packed bytes.Buffer
	digest, err := PackInline(map[string]string{"a/main.tf": "1", "a/b/c.tf": "2", "ab/main.tf": "3", "top": "4"}, &packed)
	if err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "tree")
	keep := func(name string) bool { return name == "a" || strings.HasPrefix(name, "a/") }
	manifest, err := ExtractPart(t.Context(), bytes.NewReader(packed.Bytes()), dest, Limits{}, digest, keep)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(manifest.Files))
	if diff := cmp.Diff([]string{"a", "a/b", "a/b/c.tf", "a/main.tf"}, names); diff != "" {
		t.Error(diff)
	}
	// What is left out counts for the digest.
	_, err = ExtractPart(t.Context(), bytes.NewReader(packed.Bytes()), dest, Limits{}, "sha256:"+strings.Repeat("0", 64), keep)
	var wrong *DigestError
	if !errors.As(err, &wrong) {
		t.Errorf("error: %v", err)
	}
}

func TestCopyPart(t *testing.T) {
	var packed bytes.Buffer
	digest, err := PackInline(map[string]string{"a/main.tf": "1", "a/b/c.tf": "2", "ab/main.tf": "3", "top": "4"}, &packed)
	if err != nil {
		t.Fatal(err)
	}
	tree, dest := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "copy")
	if _, err := Extract(t.Context(), &packed, tree, Limits{}, digest); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("main.tf", filepath.Join(tree, "a", "link")), os.Chmod(filepath.Join(tree, "a", "b", "c.tf"), 0o755)); err != nil {
		t.Fatal(err)
	}
	manifest, err := CopyPart(t.Context(), tree, dest, []string{"top", "a/b/c.tf", "a", "missing"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "a/b", "a/b/c.tf", "a/link", "a/main.tf", "top"}, slices.Sorted(maps.Keys(manifest.Files))); diff != "" {
		t.Error(diff)
	}
	if target, err := os.Readlink(filepath.Join(dest, "a", "link")); err != nil || target != "main.tf" {
		t.Errorf("the link leads to %q: %v", target, err)
	}
	info, err := os.Stat(filepath.Join(dest, "a", "b", "c.tf"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	var entry *EntryError
	if _, err := CopyPart(t.Context(), tree, dest, []string{"../outside"}); !errors.As(err, &entry) {
		t.Errorf("error: %v", err)
	}
}
