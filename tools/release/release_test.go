// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/blakesmith/ar"
	"github.com/yuba-dev/yuba/tools/release/build"
)

// repository makes what a release is made of. The programs are small, and say what they
// are made of as any Go program does.
func repository(t *testing.T, built time.Time) (root, programsDir string) {
	t.Helper()
	root, programsDir = t.TempDir(), t.TempDir()
	for name, mode := range map[string]fs.FileMode{
		"LICENSE": 0o644, "README.md": 0o644, "install.sh": 0o755, "examples/systemd/yuba.service": 0o644,
		"tools/release/scripts/postinstall": 0o755, "tools/release/scripts/preremove": 0o755, "tools/release/scripts/postremove": 0o755,
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, name), content, mode)
	}
	write(t, filepath.Join(root, "bin", "yuba"), []byte("#!/bin/sh\n[ \"$1\" != version ] || echo 'Client: v1.2.3-4-gabcdef0 (go1.26, linux/amd64)'\necho \"# bin/yuba $*\"\n"), 0o755)
	small := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", small, "./testdata/program").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	content, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		path := filepath.Join(programsDir, name)
		write(t, path, content, 0o700)
		if err := os.Chtimes(path, built, built); err != nil {
			t.Fatal(err)
		}
	}
	return root, programsDir
}

func write(t *testing.T, path string, content []byte, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, mode)); err != nil {
		t.Fatal(err)
	}
}

var native = runtime.GOOS + "/" + runtime.GOARCH

// packed makes a release of programs that are built already, from the version's tag if it has one.
func packed(t *testing.T, version string, built time.Time) (dir, news string) {
	t.Helper()
	root, programsDir := repository(t, built)
	if v, err := build.ParseVersion(version); err == nil && v.Tagged {
		commit(t, root)
		git(t, root, "tag", version)
	}
	dir = filepath.Join(t.TempDir(), "dist")
	var said bytes.Buffer
	args := []string{"-root", root, "-out", dir, "-version", version, "-date", "1700000000", "-programs", programsDir, "-platforms", native}
	if err := run(t.Context(), args, &said); err != nil {
		t.Fatal(err)
	}
	return dir, said.String()
}

func TestTheSameProgramsMakeTheSameRelease(t *testing.T) {
	key := newKey(t)
	t.Setenv(keyVariable, key)
	first, _ := packed(t, "v1.2.3", time.Unix(1600000000, 0))
	second, _ := packed(t, "v1.2.3", time.Now())
	want, got := contents(t, first), contents(t, second)
	for name := range want {
		if !bytes.Equal(want[name], got[name]) {
			t.Errorf("%s is another one in another directory at another time", name)
		}
	}
	stem := "yuba_1.2.3_" + strings.ReplaceAll(native, "/", "_")
	names := []string{
		"install.sh", "yuba.pub", "yuba_1.2.3_SHA256SUMS", "yuba_1.2.3_SHA256SUMS.sig", stem + ".deb", stem + ".rpm", stem + ".tar.gz", stem + "_sbom.cdx.json", "yuba_version.txt",
	}
	if has := sortedNames(got); !slices.Equal(has, names) {
		t.Errorf("the release has %q, want %q", has, names)
	}
}

func TestWhatAnArchiveHas(t *testing.T) {
	dir, news := packed(t, "v1.2.3-4-gabcdef0", time.Now())
	if !strings.Contains(news, "NOT signed") {
		t.Errorf("it says %q", news)
	}
	top := "yuba_1.2.3+4.gabcdef0_" + strings.ReplaceAll(native, "/", "_")
	archive, err := os.Open(filepath.Join(dir, top+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	got := list(t, unzipped)
	var want []string
	for _, line := range []string{
		"-rw-r--r-- LICENSE", "-rw-r--r-- README.md", "-rwxr-xr-x bin/yuba", "-rwxr-xr-x bin/yuba-helm", "-rwxr-xr-x bin/yuba-kustomize", "-rwxr-xr-x bin/yuba-network", "-rwxr-xr-x bin/yuba-policy", "-rwxr-xr-x bin/yuba-runner", "-rwxr-xr-x bin/yuba-sandbox", "-rwxr-xr-x bin/yuba-sops",
		"-rw-r--r-- completions/_yuba", "-rw-r--r-- completions/yuba.bash", "-rw-r--r-- completions/yuba.fish", "-rw-r--r-- systemd/yuba.service",
	} {
		want = append(want, strings.Replace(line, " ", " "+top+"/", 1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatAPackageOfDebianHas(t *testing.T) {
	dir, _ := packed(t, "0123abc", time.Now())
	file, err := os.Open(filepath.Join(dir, "yuba_0.0.0+g0123abc_"+strings.ReplaceAll(native, "/", "_")+".deb"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parts := ar.NewReader(file)
	seen := map[string]string{}
	for {
		part, err := parts.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimRight(part.Name, "/ "); strings.HasSuffix(name, ".tar.gz") {
			unzipped, err := gzip.NewReader(parts)
			if err != nil {
				t.Fatal(err)
			}
			seen[name] = strings.Join(list(t, unzipped), "\n")
		}
	}
	for _, want := range []string{"-rwxr-xr-x ./usr/bin/yuba\n", "-rwxr-xr-x ./usr/bin/yuba-runner\n", "-rwxr-xr-x ./usr/bin/yuba-sandbox\n", "-rwxr-xr-x ./usr/bin/yuba-kustomize\n",
		"./usr/lib/systemd/system/yuba.service", "./usr/share/bash-completion/completions/yuba\n", "./usr/share/doc/yuba/copyright"} {
		if !strings.Contains(seen["data.tar.gz"]+"\n", want) {
			t.Errorf("want %q in\n%s", want, seen["data.tar.gz"])
		}
	}
	for _, want := range []string{"control", "postinst", "prerm", "postrm"} {
		if !strings.Contains(seen["control.tar.gz"], want) {
			t.Errorf("want %q in\n%s", want, seen["control.tar.gz"])
		}
	}
}

// The unit of the packages starts the program that the packages have.
func TestTheUnitOfPackagesStartsTheirProgram(t *testing.T) {
	root, _ := repository(t, time.Now())
	r := release{root: root}
	path, err := r.stage(file{name: "systemd/yuba.service", mode: 0o644, source: filepath.Join(root, "examples/systemd/yuba.service")}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(unit, []byte("\nExecStart=/usr/bin/yuba up ")) || bytes.Contains(unit, []byte("/usr/local")) {
		t.Errorf("%v in\n%s", err, unit)
	}
}

func TestTheBillNamesWhatProgramsAreMadeOf(t *testing.T) {
	dir, _ := packed(t, "v2.0.0-1-g0000000", time.Now())
	file, err := os.Open(filepath.Join(dir, "yuba_2.0.0+1.g0000000_"+strings.ReplaceAll(native, "/", "_")+"_sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{}
	for _, c := range *bom.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		refs[c.BOMRef] = true
	}
	for _, want := range []string{"program:yuba", "program:yuba-sandbox", "pkg:golang/github.com/blakesmith/ar@v0.0.0-20190502131153-809d4375e1fb", "pkg:golang/std@" + runtime.Version()} {
		if !refs[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if len(*bom.Dependencies) != len(programs) || bom.Metadata.Timestamp != "2023-11-14T22:13:20Z" {
		t.Errorf("%d programs depend on something, at %s", len(*bom.Dependencies), bom.Metadata.Timestamp)
	}
	for _, d := range *bom.Dependencies {
		for _, ref := range *d.Dependencies {
			if !refs[ref] {
				t.Errorf("%s depends on %s, which does not exist", d.Ref, ref)
			}
		}
	}
}

func TestEveryProgramIsReleased(t *testing.T) {
	entries, err := os.ReadDir("../../cmd")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, entry := range entries {
		want = append(want, entry.Name())
	}
	got := slices.Sorted(slices.Values(programs))
	if !slices.Equal(got, want) {
		t.Errorf("released are %q, and cmd/ has %q", got, want)
	}
}

func TestWhatIsNotReleased(t *testing.T) {
	root, programsDir := repository(t, time.Now())
	commit(t, root)
	git(t, root, "tag", "v1.2.3")
	base := []string{"-root", root, "-date", "1700000000", "-programs", programsDir, "-out", filepath.Join(t.TempDir(), "dist")}
	for sentence, test := range map[string]struct {
		key  string
		args []string
		says string
	}{
		"a tag without a key":             {"", []string{"-version", "v1.2.3", "-platforms", native}, "released with a signature only"},
		"a key that is not there":         {"/missing", []string{"-version", "v1.2.3", "-platforms", native}, "read the signing key"},
		"a key of another kind":           {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", []string{"-version", "0123abc", "-platforms", native}, "no ECDSA key on P-256"},
		"another platform than was built": {"", []string{"-version", "0123abc", "-platforms", "linux/arm64,linux/amd64"}, "has those of " + native},
		"a platform that is not known":    {"", []string{"-version", "0123abc", "-platforms", "plan9/amd64"}, "not a platform that Yuba is released for"},
		"something that is not a version": {"", []string{"-version", "../../etc", "-platforms", native}, "is not a version"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Setenv(keyVariable, test.key)
			if err := run(t.Context(), append(test.args, base...), io.Discard); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

// openssl is what people without cosign verify signatures with.
func TestOpenSSLAcceptsTheSignature(t *testing.T) {
	t.Setenv(keyVariable, newKey(t))
	dir, _ := packed(t, "v1.2.3", time.Now())
	verify := func() error {
		cmd := exec.Command("openssl", "dgst", "-sha256", "-verify", "yuba.pub", "-signature", "yuba_1.2.3_SHA256SUMS.sig", "yuba_1.2.3_SHA256SUMS")
		cmd.Dir = dir
		return cmd.Run()
	}
	if err := verify(); err != nil {
		t.Errorf("openssl: %v", err)
	}
	write(t, filepath.Join(dir, "yuba_1.2.3_SHA256SUMS"), []byte("other sums\n"), 0o644)
	if err := verify(); err == nil {
		t.Error("openssl accepts other sums")
	}
	sums := exec.Command("sha256sum", "-c", "-")
	sums.Dir = dir
	other, _ := packed(t, "v1.2.3", time.Now())
	text, err := os.ReadFile(filepath.Join(other, "yuba_1.2.3_SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	sums.Stdin = bytes.NewReader(text)
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// newKey is a key as openssl makes it.
func newKey(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "yuba.key")
	if out, err := exec.Command("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path).CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	return path
}

func list(t *testing.T, r io.Reader) []string {
	t.Helper()
	var names []string
	for entries := tar.NewReader(r); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %s", entry.FileInfo().Mode(), entry.Name))
	}
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if all[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func sortedNames(all map[string][]byte) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
