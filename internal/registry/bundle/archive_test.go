// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/bundle"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var content = map[string]string{"a": "1", "b/c": strings.Repeat("2", 5000), "b/d.json": "{}", "b.x": ""}

func pack(t *testing.T, files map[string]string) ([]byte, bundle.Summary) {
	t.Helper()
	var out bytes.Buffer
	s, err := bundle.Pack(context.Background(), tree(t, files), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), s
}

func open(t *testing.T, archive []byte) (*bundle.Archive, error) {
	t.Helper()
	return bundle.Open(t.Context(), bytes.NewReader(archive), int64(len(archive)))
}

func entriesOf(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestABundle(t *testing.T) {
	archive, s := pack(t, content)
	again, _ := pack(t, content)
	if !bytes.Equal(archive, again) {
		t.Error("the same content makes another archive")
	}
	dir := t.TempDir()
	got, err := open(t, archive)
	if err == nil {
		err = got.Extract(t.Context(), dir, "a", "b", "b.x")
	}
	if err != nil || got.Digest != s.Digest || got.Size != 5003 || len(got.Files) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, want := range content {
		if is, err := os.ReadFile(filepath.Join(dir, name)); string(is) != want {
			t.Errorf("%s is %q, %v", name, is, err)
		}
	}
	if some := t.TempDir(); got.Extract(t.Context(), some, "b") != nil || len(entriesOf(t, some)) != 1 || !got.Has("b") || got.Has("c") {
		t.Errorf("one part has %v", entriesOf(t, some))
	}
	link := tree(t, content)
	if err := os.Symlink("/etc/passwd", filepath.Join(link, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Pack(t.Context(), link, io.Discard); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// Each byte counts: whichever is changed or missing, nothing is accepted.
func TestADamagedBundleIsRefused(t *testing.T) {
	archive, s := pack(t, content)
	for at := 0; at < len(archive)-1024; at += 37 {
		damaged := bytes.Clone(archive)
		damaged[at] ^= 0x20
		if got, err := open(t, damaged); err == nil && got.Digest == s.Digest && !padding(archive, at) {
			t.Errorf("byte %d can change", at)
		}
	}
	for length := 0; length < len(archive)-2048; length += 101 {
		if _, err := open(t, archive[:length]); err == nil {
			t.Errorf("%d bytes are enough", length)
		}
	}
}

// padding reports whether a byte is one of tar's, between files or in fields that carry nothing.
func padding(archive []byte, at int) bool {
	block := archive[at/512*512 : at/512*512+512]
	return block[at%512] == 0 && !bytes.Contains(block, []byte("ustar"))
}

func TestHostileBundlesAreRefused(t *testing.T) {
	type file struct {
		name, content string
		kind          byte
	}
	for name, test := range map[string]struct {
		index []bundle.File
		files []file
		says  string
	}{
		"a path outside":           {[]bundle.File{{Path: "../x"}}, nil, "is not a path below"},
		"an absolute path":         {[]bundle.File{{Path: "/etc/x"}}, nil, "is not a path below"},
		"another spelling":         {[]bundle.File{{Path: "a/./b"}}, nil, "is not a path below"},
		"a name with a zero":       {[]bundle.File{{Path: "a\x00"}}, nil, "is not a path below"},
		"twice":                    {[]bundle.File{{Path: "a"}, {Path: "a"}}, nil, "is twice"},
		"below a file":             {[]bundle.File{{Path: "a"}, {Path: "a/b"}}, nil, "is below a file"},
		"a size below zero":        {[]bundle.File{{Path: "a", Size: -1}}, nil, "GiB"},
		"too large":                {[]bundle.File{{Path: "a", Size: 1 << 41}}, nil, "GiB"},
		"a link":                   {[]bundle.File{{Path: "a"}}, []file{{"a", "", tar.TypeSymlink}}, "where its index has"},
		"another file":             {[]bundle.File{{Path: "a"}}, []file{{"b", "", tar.TypeReg}}, "where its index has"},
		"another sum":              {[]bundle.File{{Path: "a", Size: 1, SHA256: strings.Repeat("0", 64)}}, []file{{"a", "x", tar.TypeReg}}, "is damaged"},
		"a file without an index":  {nil, []file{{"a", "x", tar.TypeReg}}, "which its index does not have"},
		"a file that is not there": {[]bundle.File{{Path: "a"}}, nil, "ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := tar.NewWriter(&out)
			text, err := json.Marshal(bundle.Index{Version: 1, Files: test.index})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append([]file{{"yuba-bundle.json", string(text), tar.TypeReg}}, test.files...) {
				header := &tar.Header{Name: f.name, Typeflag: f.kind, Size: int64(len(f.content))}
				if f.kind == tar.TypeSymlink {
					header.Linkname = "/etc"
				}
				if err := w.WriteHeader(header); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte(f.content)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = open(t, out.Bytes())
			var invalid *bundle.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("want %q, got %v", test.says, err)
			}
		})
	}
	if _, err := open(t, []byte(strings.Repeat("x", 2048))); err == nil || !strings.Contains(err.Error(), "not a tar archive") {
		t.Error(err)
	}
}
