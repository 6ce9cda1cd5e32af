// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"archive/tar"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

const script = "#!/bin/sh\necho OpenTofu\n"

func TestAReleaseIsInstalled(t *testing.T) {
	releases := releasetest.New(t)
	releases.Publish("1.12.6", []byte(script))
	for sentence, source := range map[string]Source{
		"from a server":                        {URL: releases.URL, KeyFile: releases.KeyFile},
		"from a directory without any network": {URL: "file://" + releases.Dir, KeyFile: releases.KeyFile},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data", "tools")
			var last, size int64
			got, err := Install(t.Context(), source, dir, "1.12.6", func(done, total int64) { last, size = done, total })
			if err != nil {
				t.Fatal(err)
			}
			if got.Signer == "" || last == 0 || last != size {
				t.Errorf("got %+v, told of %d of %d bytes", got, last, size)
			}
			want := Installed{Path: filepath.Join(dir, "tofu-1.12.6"), Version: "1.12.6", Signer: got.Signer}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if out, err := exec.Command(got.Path).Output(); err != nil || string(out) != "OpenTofu\n" {
				t.Errorf("the program says %q, %v", out, err)
			}
			if left := names(t, dir); !slices.Equal(left, []string{"tofu-1.12.6"}) {
				t.Errorf("the directory has %q", left)
			}
		})
	}
}

func TestWhatIsThereIsNotFetchedAgain(t *testing.T) {
	releases, dir := releasetest.New(t), t.TempDir()
	releases.Publish("1.12.6", []byte(script))
	source := Source{URL: releases.URL, KeyFile: releases.KeyFile}
	if _, err := Install(t.Context(), source, dir, "1.12.6", nil); err != nil {
		t.Fatal(err)
	}
	if asked := releases.Asked(); len(asked) != 3 {
		t.Errorf("asked for %q", asked)
	}
	got, err := Install(t.Context(), source, dir, "1.12.6", nil)
	if err != nil || !got.Already || len(releases.Asked()) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A bundle keeps what Carried names, and removes the rest.
func TestCarriedNamesWhatCarryWrites(t *testing.T) {
	releases, dir := releasetest.New(t), t.TempDir()
	releases.Publish("1.12.6", []byte(script))
	source, platforms := Source{URL: releases.URL, KeyFile: releases.KeyFile}, []string{runtime.GOOS + "_" + runtime.GOARCH}
	if _, err := source.Carry(t.Context(), "1.12.6", platforms, dir, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	var want []string
	for _, name := range source.Carried("1.12.6", platforms) {
		want = append(want, filepath.Join(dir, name))
	}
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
}

// Each of these leaves the directory as it was.
func TestWhatIsNotInstalled(t *testing.T) {
	const version = "1.12.6"
	archive, sums := releasetest.ArchiveName(version), releasetest.Sums(version)
	for sentence, test := range map[string]struct {
		damage func(t *testing.T, r *releasetest.Releases, s *Source)
		says   string
	}{
		"an archive with another byte": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			content := read(t, r.Path(version, archive))
			content[len(content)/2] ^= 1
			r.Write(version, archive, content)
		}, "The file was damaged or replaced in transit. Nothing was installed"},
		"an archive and a checksum that somebody replaced": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			r.Write(version, sums, []byte(strings.Replace(string(read(t, r.Path(version, sums))), " ", "  ", 1)))
		}, "verify " + sums + ": it is not signed by"},
		"a signature of another key": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			r.Sign(version, releasetest.NewKey(t, filepath.Join(t.TempDir(), "other")), string(read(t, r.Path(version, sums))))
		}, "it is not signed by the keys in"},
		"a mirror's signature when OpenTofu's own is wanted": {func(_ *testing.T, _ *releasetest.Releases, s *Source) {
			s.KeyFile = ""
		}, "it is not signed by OpenTofu's key E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80"},
		"a signature that is none": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.Write(version, sums+".gpgsig", []byte("hello"))
		}, "verify " + sums},
		"no signature": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			remove(t, r.Path(version, sums+".gpgsig"))
		}, sums + ".gpgsig: the file does not exist"},
		"no checksums": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			remove(t, r.Path(version, sums))
		}, "this version may not exist"},
		"no archive": {func(t *testing.T, r *releasetest.Releases, _ *Source) {
			remove(t, r.Path(version, archive))
		}, archive + ": the file does not exist"},
		"no archive for this platform": {func(t *testing.T, r *releasetest.Releases, s *Source) {
			key := releasetest.NewKey(t, s.KeyFile)
			r.Sign(version, key, strings.Repeat("0", 64)+"  tofu_1.12.6_plan9_mips.tar.gz\n")
		}, "this release has no program for"},
		"a download that breaks off": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.Cut(archive)
		}, "it ended after"},
		"checksums that break off": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.Cut(sums)
		}, "it ended after"},
		"checksums without an end": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.Write(version, sums, make([]byte, maxSums+1))
		}, "which no release has"},
		"an archive whose tofu is a link": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.PublishEntry(version, &tar.Header{Name: "tofu", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh"}, nil)
		}, "is not a program"},
		"an archive without a tofu": {func(_ *testing.T, r *releasetest.Releases, _ *Source) {
			r.PublishEntry(version, &tar.Header{Name: "../tofu", Typeflag: tar.TypeReg}, nil)
		}, "it does not contain the program tofu"},
		"nobody listens": {func(t *testing.T, _ *releasetest.Releases, s *Source) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s.URL = "http://" + listener.Addr().String()
			listener.Close()
		}, "the connection was refused"},
		"a URL of another kind": {func(_ *testing.T, _ *releasetest.Releases, s *Source) {
			s.URL = "ftp://user:secret@example.com/x"
		}, "is ftp://(sensitive)@example.com/x; use https://HOST/PATH"},
		"a key file that has no key": {func(t *testing.T, _ *releasetest.Releases, s *Source) {
			if err := os.WriteFile(s.KeyFile, []byte("no key"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "does not contain armoured public keys"},
	} {
		t.Run(sentence, func(t *testing.T) {
			releases, dir := releasetest.New(t), t.TempDir()
			releases.Publish(version, []byte(script))
			source := Source{URL: releases.URL, KeyFile: releases.KeyFile}
			test.damage(t, releases, &source)
			_, err := Install(t.Context(), source, dir, version, nil)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if left := names(t, dir); len(left) != 0 {
				t.Errorf("the directory has %q", left)
			}
		})
	}
}

func TestAnInstallationThatIsInterruptedLeavesNothing(t *testing.T) {
	releases, dir := releasetest.New(t), t.TempDir()
	releases.Publish("1.12.6", []byte(strings.Repeat(script, 100_000)))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Install(ctx, Source{URL: releases.URL, KeyFile: releases.KeyFile}, dir, "1.12.6", func(int64, int64) { cancel() })
	if err == nil || len(names(t, dir)) != 0 {
		t.Errorf("got %v, the directory has %q", err, names(t, dir))
	}
}

func TestOpenTofusKeyIsTheOneThatIsKnown(t *testing.T) {
	keys, err := Source{}.ownKeys()
	if err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

func TestVersionsOfReleases(t *testing.T) {
	for text, want := range map[string]string{
		"1.12.6": "1.12.6", "v1.9.0": "1.9.0", "1.13.0-rc1": "1.13.0-rc1",
		"": "", "1.12": "", "~> 1.12": "", "latest": "", "1.12.6/../x": "", "1.12.6-": "", "1.12.6 ": "",
	} {
		got, err := ParseVersion(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}
