// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/yuba-dev/yuba/tools/release/build"
)

// write builds and writes the images, and returns the directory and the printed names.
func write(t *testing.T, built time.Time, platforms ...build.Platform) (dir, answer string) {
	t.Helper()
	b, said := newBuilder(t, built)
	dir = filepath.Join(t.TempDir(), "images")
	if err := b.run(t.Context(), platforms, dir); err != nil {
		t.Fatal(err)
	}
	return dir, said.String()
}

// buildFor builds the images for a platform, by their names.
func buildFor(t *testing.T, p build.Platform) map[string]built {
	t.Helper()
	b, _ := newBuilder(t, time.Now())
	all, err := b.build(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]built{}
	for _, one := range all {
		named[one.image.name] = one
	}
	return named
}

func TestTheSameFilesMakeTheSameImages(t *testing.T) {
	first, answer := write(t, time.Now(), amd64, arm64)
	second, again := write(t, time.Now().Add(-time.Hour), amd64, arm64)
	if answer != again || strings.Count(answer, "\n") != len(images) {
		t.Errorf("got\n%s\nand then\n%s", answer, again)
	}
	one, other := listFiles(t, first), listFiles(t, second)
	if !slices.Equal(one, other) {
		t.Errorf("got\n%q\nand then\n%q", one, other)
	}
	if want := "registry.example.com/yuba/yuba-runner:v1.2.3-4-gabcdef0@sha256:"; !strings.Contains(answer, want) {
		t.Errorf("got %q, want %q", answer, want)
	}
}

func TestAnEarlierBuildIsReplaced(t *testing.T) {
	b, _ := newBuilder(t, time.Now())
	dir := filepath.Join(t.TempDir(), "images")
	if err := b.run(t.Context(), []build.Platform{amd64, arm64}, dir); err != nil {
		t.Fatal(err)
	}
	b.date = b.date.Add(time.Hour)
	if err := b.run(t.Context(), []build.Platform{amd64}, dir); err != nil {
		t.Fatal(err)
	}
	want, _ := newBuilder(t, time.Now())
	want.date = b.date
	fresh := filepath.Join(t.TempDir(), "images")
	if err := want.run(t.Context(), []build.Platform{amd64}, fresh); err != nil {
		t.Fatal(err)
	}
	if got, want := listFiles(t, dir), listFiles(t, fresh); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheLayoutIsValid(t *testing.T) {
	dir, _ := write(t, time.Now(), amd64, arm64)
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range manifest.Manifests {
		if name, ok := d.Annotations[nameAnnotation]; ok {
			names = append(names, name)
			index, err := top.ImageIndex(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Index(index); err != nil {
				t.Error(err)
			}
			checkIndex(t, index)
		}
	}
	want := []string{"registry.example.com/yuba/yuba:v1.2.3-4-gabcdef0", "registry.example.com/yuba/yuba-runner:v1.2.3-4-gabcdef0"}
	if !slices.Equal(names, want) || len(manifest.Manifests) != 6 {
		t.Errorf("got %d manifests with the names %q, want %q", len(manifest.Manifests), names, want)
	}
}

func checkIndex(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64/v8"}; !slices.Equal(platforms, want) {
		t.Errorf("got %q, want %q", platforms, want)
	}
	for _, name := range []string{"version", "revision", "source", "created", "title", "licenses"} {
		if manifest.Annotations["org.opencontainers.image."+name] == "" {
			t.Errorf("the annotation %s is missing", name)
		}
	}
}

func TestHowAContainerStarts(t *testing.T) {
	for name, want := range map[string]string{
		"yuba":        "65532:65532 /home/yuba [/usr/local/bin/yuba] amd64 2023-11-14T22:13:20Z",
		"yuba-runner": "65532:65532 /home/runner [/usr/local/bin/yuba-runner] amd64 2023-11-14T22:13:20Z",
	} {
		config, err := buildFor(t, amd64)[name].ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if got := fmt.Sprintf("%s %s %s %s %s", c.User, c.WorkingDir, c.Entrypoint, config.Architecture, config.Created.Format(time.RFC3339)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestTheFilesOfImages(t *testing.T) {
	for name, want := range map[string]struct{ has, lacks []string }{
		"yuba": {
			has: []string{
				"-rwxr-xr-x 0 usr/local/bin/yuba", "-rwxr-xr-x 0 usr/local/bin/yuba-helm", "-rwxr-xr-x 0 usr/local/bin/yuba-kustomize", "-rwxr-xr-x 0 usr/local/bin/yuba-policy", "-rwxr-xr-x 0 usr/local/bin/yuba-sandbox",
				"-rwxr-xr-x 0 usr/local/bin/yuba-sops", "-rw-r--r-- 0 etc/ssl/certs/ca-certificates.crt", "-rw-r--r-- 0 etc/passwd",
				"dtrwxrwxrwx 0 tmp", "drwxr-xr-x 65532 home/yuba",
			},
			lacks: []string{"usr/bin/git", "usr/bin/busybox", "usr/bin/sh", "usr/local/bin/tofu", "usr/local/bin/yuba-runner", "usr/share/ca-certificates"},
		},
		"yuba-runner": {
			has: []string{
				"-rwxr-xr-x 0 usr/local/bin/yuba-runner", "-rwxr-xr-x 0 usr/local/bin/yuba-sandbox", "-rwxr-xr-x 0 usr/local/bin/tofu",
				"-rwxr-xr-x 0 usr/bin/git", "-rwxr-xr-x 0 usr/lib/git-core/git", "-rwxr-xr-x 0 usr/bin/busybox", "Lrwxrwxrwx 0 usr/bin/sh",
				"-rwxr-xr-x 0 usr/bin/grep", "-rwxr-xr-x 0 usr/bin/ssh-agent", "Lrwxrwxrwx 0 bin", "drwxr-xr-x 65532 home/runner",
				"-rw-r--r-- 0 usr/share/doc/git/copyright", "-rw-r--r-- 0 var/lib/dpkg/status.d/git",
			},
			lacks: []string{"usr/local/bin/yuba", "usr/share/doc/git/README", "usr/share/man", "bin/busybox", "var/lib/dpkg/status.d/git-man"},
		},
	} {
		files := imageFiles(t, buildFor(t, amd64)[name])
		for _, line := range want.has {
			if !slices.Contains(files, line) {
				t.Errorf("%s: %q is missing in\n%s", name, line, strings.Join(files, "\n"))
			}
		}
		for _, path := range want.lacks {
			if slices.ContainsFunc(files, func(line string) bool { return strings.HasSuffix(line, " "+path) }) {
				t.Errorf("%s has %s", name, path)
			}
		}
		for _, line := range files {
			if strings.ContainsAny(line[:strings.IndexByte(line, ' ')], "ug") {
				t.Errorf("%s has a set-user or set-group file: %s", name, line)
			}
		}
	}
}

// Nodes download little for an upgrade only if the layers of Debian and tofu stay the same.
func TestTheLayersOfTheRunner(t *testing.T) {
	before := buildFor(t, amd64)["yuba-runner"]
	b, _ := newBuilder(t, time.Now())
	b.date = b.date.Add(24 * time.Hour)
	all, err := b.build(t.Context(), amd64)
	if err != nil {
		t.Fatal(err)
	}
	after := all[slices.IndexFunc(all, func(b built) bool { return b.image.name == "yuba-runner" })]
	old, err := before.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	now, err := after.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(old.Layers) != 3 || old.Layers[0].Digest != now.Layers[0].Digest || old.Layers[1].Digest != now.Layers[1].Digest {
		t.Errorf("the layers were %v, and a day later %v", old.Layers, now.Layers)
	}
	if old.Config.Digest == now.Config.Digest {
		t.Error("the configurations are the same, with another time")
	}
}

func TestTheBillOfMaterials(t *testing.T) {
	one := buildFor(t, arm64)["yuba-runner"]
	var bill spdxDocument
	if err := json.Unmarshal(one.bill, &bill); err != nil {
		t.Fatal(err)
	}
	known, urls := map[string]bool{bill.ID: true}, []string{}
	for _, p := range bill.Packages {
		if known[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		known[p.ID] = true
		for _, r := range p.References {
			urls = append(urls, r.Locator)
		}
	}
	for _, want := range []string{
		"pkg:deb/debian/git@1%3A2.0-3%2Bdeb13u1?arch=arm64&distro=debian-13", "pkg:golang/github.com/klauspost/compress@v1.19.2",
	} {
		if !slices.Contains(urls, want) {
			t.Errorf("%s is missing in %q", want, urls)
		}
	}
	if !known["SPDXRef-program-tofu"] || known["SPDXRef-program-yuba"] || slices.ContainsFunc(urls, func(u string) bool { return strings.Contains(u, "git-man") }) {
		t.Errorf("it has %v", known)
	}
	for _, r := range bill.Relationships {
		if !known[r.From] || !known[r.To] {
			t.Errorf("%s %s %s: one of them does not exist", r.From, r.Kind, r.To)
		}
	}
	manifest, err := one.artifact.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Subject.Digest != digest || manifest.ArtifactType != billType {
		t.Errorf("it refers to %v with the type %s", manifest.Subject, manifest.ArtifactType)
	}
}

func TestPackagesThatDoNotMakeAnImage(t *testing.T) {
	broken := debianPackage{name: "git", files: []byte("not an archive, but long enough to look like one" + strings.Repeat("!", 512))}
	device := deb(t, "git", "amd64", time.Now(), linkOf("./dev/null", "", tar.TypeChar))
	link := deb(t, "git", "amd64", time.Now(), linkOf("./usr/bin/a", "./usr/bin/b", tar.TypeLink))
	for sentence, test := range map[string]struct {
		replace map[string]debianPackage
		says    string
	}{
		"a damaged archive":           {map[string]debianPackage{"git": broken}, "unpack git"},
		"a device":                    {map[string]debianPackage{"git": device}, "are not supported"},
		"a hard link to nothing":      {map[string]debianPackage{"git": link}, "hard link to ./usr/bin/b, which is missing"},
		"no certificates":             {map[string]debianPackage{"ca-certificates": deb(t, "ca-certificates", "amd64", time.Now())}, "ca-certificates has none"},
		"no busybox":                  {map[string]debianPackage{"busybox": deb(t, "busybox", "amd64", time.Now())}, "does not have usr/bin/busybox"},
		"a busybox without a command": {map[string]debianPackage{"busybox": deb(t, "busybox", "amd64", time.Now(), file("./usr/bin/busybox", "\x00[\x00[[\x00zcat\x00\x00", 0o755))}, "it does not have ash"},
	} {
		packages := debian(t, "amd64", time.Now())
		for i, p := range packages {
			if other, ok := test.replace[p.name]; ok {
				packages[i] = other
			}
		}
		if _, _, err := images[1].debian(packages); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %q", sentence, err, test.says)
		}
	}
}

// imageFiles lists an image's files with their modes and owners.
func imageFiles(t *testing.T, i v1.Image) []string {
	t.Helper()
	content := mutate.Extract(i)
	defer content.Close()
	var lines []string
	for entries := tar.NewReader(content); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry.Uid != entry.Gid || entry.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is from %s", entry.Name, entry.Uid, entry.Gid, entry.ModTime)
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", entry.FileInfo().Mode(), entry.Uid, strings.TrimSuffix(entry.Name, "/")))
	}
}

// listFiles lists the files below a directory with their content's size.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, fmt.Sprintf("%s %d", strings.TrimPrefix(path, dir), len(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
