// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/tools/release/build"
)

// amd64 and arm64 are the platforms of the tests.
var amd64, arm64 = build.Platform{OS: "linux", Arch: "amd64"}, build.Platform{OS: "linux", Arch: "arm64"}

// program compiles the small program once.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system removes temporary files
	path := filepath.Join(dir, "program")
	if err := exec.Command("go", "build", "-o", path, "./testdata/program").Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newBuilder builds from small programs and packages. built is the time of the programs' files.
func newBuilder(t *testing.T, built time.Time) (*builder, *strings.Builder) {
	t.Helper()
	content, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"yuba", "yuba-helm", "yuba-kustomize", "yuba-policy", "yuba-runner", "yuba-sandbox", "yuba-sops", "tofu"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, built, built); err != nil {
			t.Fatal(err)
		}
	}
	version, err := build.ParseVersion("v1.2.3-4-gabcdef0")
	if err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	return &builder{
		repository: "registry.example.com/yuba", version: version, revision: "abcdef0", date: time.Unix(1700000000, 0).UTC(),
		layers: layers{dir: t.TempDir(), used: map[string]bool{}}, answer: &answer, news: &strings.Builder{},
		debian: func(_ context.Context, arch string, _ []string) ([]debianPackage, error) {
			return debian(t, arch, built), nil
		},
		compile: func(context.Context, build.Platform) (string, error) { return dir, nil },
	}, &answer
}

// debian are packages like those of Debian.
func debian(t *testing.T, arch string, built time.Time) []debianPackage {
	t.Helper()
	busybox := "\x00" + strings.Join(applets, "\x00") + "\x00\x00"
	return []debianPackage{
		deb(t, "base-files", arch, built,
			dirOf("./", 0o755), dirOf("./tmp/", 0o1777), dirOf("./usr/bin/", 0o755),
			linkOf("./bin", "usr/bin", tar.TypeSymlink), file("./etc/os-release", "ID=debian\n", 0o644)),
		deb(t, "busybox", arch, built, file("./bin/busybox", busybox, 0o755)),
		deb(t, "ca-certificates", arch, built,
			file("./usr/share/ca-certificates/mozilla/B.crt", "second\n\n", 0o644), file("./usr/share/ca-certificates/mozilla/A.crt", "first", 0o644)),
		deb(t, "git", arch, built,
			file("./usr/bin/git", "git", 0o755), file("./usr/bin/grep", "grep", 0o755),
			linkOf("./usr/lib/git-core/git", "./usr/bin/git", tar.TypeLink),
			file("./usr/share/doc/git/copyright", "GPL", 0o644), file("./usr/share/doc/git/README", "text", 0o644), file("./usr/share/man/man1/git.1", "text", 0o644)),
		deb(t, "git-man", arch, built,
			file("./usr/share/man/man1/git-add.1", "text", 0o644), file("./usr/share/doc/git-man/copyright", "GPL", 0o644)),
		deb(t, "openssh-client", arch, built, file("./usr/bin/ssh-agent", "agent", 0o6755)),
	}
}

// file is a file of a package, which belongs to somebody.
func file(name, content string, mode int64) fakeFile {
	return fakeFile{Header: tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Uid: 7, Gid: 101}, content: content}
}

// deb is a package.
func deb(t *testing.T, name, arch string, built time.Time, files ...fakeFile) debianPackage {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		f.ModTime = built
		if err := w.WriteHeader(&f.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return debianPackage{name: name, version: "1:2.0-3+deb13u1", arch: arch, control: "Package: " + name + "\nVersion: 1:2.0-3+deb13u1\n", files: archive.Bytes()}
}

// fakeFile is a file of a package.
type fakeFile struct {
	tar.Header
	content string
}

func dirOf(name string, mode int64) fakeFile {
	return fakeFile{Header: tar.Header{Name: name, Mode: mode, Typeflag: tar.TypeDir}}
}

func linkOf(name, target string, kind byte) fakeFile {
	return fakeFile{Header: tar.Header{Name: name, Linkname: target, Typeflag: kind}}
}
