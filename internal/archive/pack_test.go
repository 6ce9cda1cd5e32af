// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// makeTree writes files; "name -> target" makes a link and a name that ends in
// "*" an executable file.
func makeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, "*") {
			name, mode = strings.TrimSuffix(name, "*"), 0o700
		}
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pack(t *testing.T, dir string) ([]byte, string, Stats) {
	t.Helper()
	var out bytes.Buffer
	digest, stats, err := Pack(t.Context(), dir, &out, PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), digest, stats
}

// contents reads a tree back in the notation of makeTree.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(full string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, full)
		if d.Type()&os.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			out[name] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o100 != 0 {
			name += "*"
		}
		content, err := os.ReadFile(full)
		out[strings.TrimSuffix(name, "\x00")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSameContentHasTheSameDigest(t *testing.T) {
	files := map[string]string{"main.tf": "a", "mod/x.tf": "b", "run.sh*": "c", "link": "-> mod/x.tf"}
	one, two := makeTree(t, files), makeTree(t, files)
	if err := os.Chtimes(filepath.Join(two, "main.tf"), time.Unix(1, 0), time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(two, "main.tf"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(two, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, digestA, _ := pack(t, one)
	b, digestB, _ := pack(t, two)
	if digestA != digestB || !bytes.Equal(a, b) {
		t.Errorf("digests %s and %s", digestA, digestB)
	}
	// A digest that moves with a release of Yuba makes every stack run anew.
	const want = "sha256:ab0f3d1436bb800079d1b421c0d08540cb7ab9a2fd1440915a7b65cf7a67a429"
	if digestA != want {
		t.Errorf("digest %s, always was %s", digestA, want)
	}
	var inline bytes.Buffer
	digest, err := PackInline(map[string]string{"main.tf": "a", "mod/x.tf": "b"}, &inline)
	if err != nil || inline.Len() == 0 {
		t.Fatal(err)
	}
	if _, same, _ := pack(t, makeTree(t, map[string]string{"main.tf": "a", "mod/x.tf": "b"})); same != digest {
		t.Errorf("inline %s, directory %s", digest, same)
	}
}

func TestPackLeavesOut(t *testing.T) {
	dir := makeTree(t, map[string]string{
		"main.tf": "x", ".terraform.lock.hcl": "lock", "terraform.tfvars": "kept",
		".git/config": "", "mod/.git": "gitdir: x", ".terraform/providers/p": "", "mod/.terraform/x": "",
		"terraform.tfstate": "s", "a/terraform.tfstate.backup": "s", "terraform.tfstate.d/w/terraform.tfstate": "s",
		".terraform.tfstate.lock.info": "", "crash.log": "", "crash.2026.log": "", "errored.tfstate": "",
		".gitignore": "*.zip\nbuild/\n.terraform.lock.hcl\n!keep.zip\n", "a.zip": "", "keep.zip": "kept", "build/out": "",
		"mod/.gitignore": "/local\n!again.zip\n", "mod/local": "", "mod/again.zip": "kept", "local": "kept",
		".terraformignore": "# comment\n\ndocs/\n!wanted.zip\r\n", "docs/x.md": "", "wanted.zip": "kept",
	})
	archive, digest, stats := pack(t, dir)
	dest := filepath.Join(t.TempDir(), "tree")
	if _, err := Extract(t.Context(), bytes.NewReader(archive), dest, Limits{}, digest); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range contents(t, dest) {
		names = append(names, name)
	}
	want := []string{
		"main.tf", ".terraform.lock.hcl", "terraform.tfvars", ".gitignore", "keep.zip", "mod/.gitignore",
		"mod/again.zip", "local", ".terraformignore", "wanted.zip",
	}
	sorted := cmp.Transformer("set", func(in []string) map[string]bool {
		out := map[string]bool{}
		for _, name := range in {
			out[name] = true
		}
		return out
	})
	if diff := cmp.Diff(want, names, sorted); diff != "" {
		t.Error(diff)
	}
	if stats.Files != len(want) || stats.Packed != int64(len(archive)) || stats.Ignored == 0 {
		t.Errorf("%+v", stats)
	}
}

func TestPackRefuses(t *testing.T) {
	cases := map[string]struct{ name, content, want string }{
		"a link to an absolute path":          {"l", "-> /etc/passwd", "must be a relative path"},
		"a link that leaves the tree":         {"a/l", "-> ../../x", "leaves the directory"},
		"a link that turns around on its way": {"a/b/l", "-> c/../../../x", "leaves the directory"},
		"a name with a backslash":             {`a\b`, "x", "backslash"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var entry *EntryError
			_, _, err := Pack(t.Context(), makeTree(t, map[string]string{c.name: c.content}), &bytes.Buffer{}, PackOptions{})
			if !errors.As(err, &entry) || entry.Name != c.name || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a socket", func(t *testing.T) {
		dir := makeTree(t, nil)
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		var entry *EntryError
		if _, _, err = Pack(t.Context(), dir, &bytes.Buffer{}, PackOptions{}); !errors.As(err, &entry) || entry.Name != "s" {
			t.Errorf("%v", err)
		}
	})
	t.Run("more than the limit", func(t *testing.T) {
		var limit *LimitError
		dir := makeTree(t, map[string]string{"a": strings.Repeat("x", 1000)})
		if _, _, err := Pack(t.Context(), dir, &bytes.Buffer{}, PackOptions{MaxPacked: 50}); !errors.As(err, &limit) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a directory that is not there", func(t *testing.T) {
		if _, _, err := Pack(t.Context(), "/nowhere", &bytes.Buffer{}, PackOptions{}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
	t.Run("when it is told to stop", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := Pack(ctx, makeTree(t, map[string]string{"a": "x"}), &bytes.Buffer{}, PackOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestPackInlineRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"an absolute name":           {"/main.tf", "absolute"},
		"a name that leaves":         {"../main.tf", "leaves the directory"},
		"a name that leaves midway":  {"a/../../main.tf", "leaves the directory"},
		"a name that is not clean":   {"a//main.tf", `write the name as "a/main.tf"`},
		"no name":                    {"", "empty"},
		"a state":                    {"terraform.tfstate", "belongs to git or to tofu"},
		"a file that is a directory": {"other.tf/x", "both a file and a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PackInline(map[string]string{c.file: "x", "other.tf": "y"}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
