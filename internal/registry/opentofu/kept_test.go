// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

// kept keeps the releases of a test in a new bucket.
func kept(t *testing.T, source Source) *Kept {
	t.Helper()
	bucket, err := blob.OpenPlain(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	return &Kept{Bucket: bucket, Sources: map[string]Source{source.name(): source}, Spool: download.Staging(t.TempDir())}
}

// have returns a kept file.
func have(t *testing.T, k *Kept, f File) (string, error) {
	t.Helper()
	r, size, err := k.Open(t.Context(), f)
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil || int64(len(content)) != size {
		t.Errorf("%d of %d bytes, %v", len(content), size, err)
	}
	return string(content), nil
}

func file(t *testing.T, k *Kept, folder, name string) File {
	t.Helper()
	f, err := k.ParseFile(Tofu, folder, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDownloadsLeaveNothingInTheSpool(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	releases := releasetest.New(t)
	releases.Publish("1.12.6", []byte(script))
	k := kept(t, Source{URL: releases.URL, KeyFile: releases.KeyFile})
	abandoned := filepath.Join(string(k.Spool), "fetch-123")
	if err := errors.Join(os.Mkdir(abandoned, 0o700), k.Spool.Prepare()); err != nil {
		t.Fatal(err)
	}
	// Without the spool there is no download, so nothing went elsewhere.
	spool := k.Spool
	k.Spool = download.Staging(filepath.Join(string(spool), "missing"))
	archive := file(t, k, "v1.12.6", releasetest.ArchiveName("1.12.6"))
	if err := k.FetchBy(t.Context(), archive, ""); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	k.Spool = spool
	if err := k.FetchBy(t.Context(), archive, ""); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{string(spool), temporary} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

func TestReleasesAreKept(t *testing.T) {
	releases := releasetest.New(t)
	releases.Publish("1.12.6", []byte(script))
	k := kept(t, Source{URL: releases.URL, KeyFile: releases.KeyFile})
	archive := file(t, k, "v1.12.6", releasetest.ArchiveName("1.12.6"))
	if _, err := have(t, k, archive); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	// However many ask, each file is downloaded once.
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := k.FetchBy(t.Context(), archive, "alice"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if asked := releases.Asked(); len(asked) != 3 {
		t.Errorf("asked for %q", asked)
	}
	if got, err := have(t, k, archive); err != nil || got != string(read(t, releases.Path("1.12.6", archive.Name))) {
		t.Errorf("it differs, %v", err)
	}
	sums := file(t, k, "1.12.6", releasetest.Sums("1.12.6"))
	if err := k.FetchBy(t.Context(), sums, "alice"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sums.Name, sums.Name + ".gpgsig"} {
		if got, err := have(t, k, file(t, k, "v1.12.6", name)); err != nil || got != string(read(t, releases.Path("1.12.6", name))) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
}

func TestOnlyVerifiedFilesAreKept(t *testing.T) {
	const version = "1.12.6"
	name := releasetest.ArchiveName(version)
	for sentence, damage := range map[string]func(r *releasetest.Releases){
		"another archive": func(r *releasetest.Releases) { r.Write(version, name, []byte("something else")) },
		"another signer": func(r *releasetest.Releases) {
			r.Sign(version, releasetest.NewKey(t, filepath.Join(t.TempDir(), "other")), string(read(t, r.Path(version, releasetest.Sums(version)))))
		},
		"no signature": func(r *releasetest.Releases) {
			if err := os.Remove(r.Path(version, releasetest.Sums(version)+".gpgsig")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			releases := releasetest.New(t)
			releases.Publish(version, []byte(script))
			damage(releases)
			k := kept(t, Source{URL: releases.URL, KeyFile: releases.KeyFile})
			archive := file(t, k, version, name)
			if err := k.FetchBy(t.Context(), archive, "alice"); err == nil {
				t.Error("it is kept")
			}
			for info, err := range k.Bucket.List(t.Context(), "") {
				if strings.HasSuffix(info.Key, name) || sentence != "another archive" {
					t.Errorf("the bucket has %s, %v", info.Key, err)
				}
			}
		})
	}
}

func TestNamesOfFiles(t *testing.T) {
	k := &Kept{Sources: map[string]Source{Tofu: {}, Terraform: {Tool: Terraform}}}
	for name, ok := range map[string]bool{
		"tofu/v1.12.6/tofu_1.12.6_linux_amd64.tar.gz": true, "tofu/1.12.6/tofu_1.12.6_windows_arm64.zip": true,
		"tofu/v1.12.6/tofu_1.12.6_SHA256SUMS": true, "tofu/v1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig": true,
		"terraform/1.11.4/terraform_1.11.4_SHA256SUMS.sig": true, "terraform/1.11.4/terraform_1.11.4_darwin_arm64.zip": true,
		"tofu/v1.12.6/tofu_1.12.5_linux_amd64.tar.gz": false, "tofu/v1.12/tofu_1.12_linux_amd64.tar.gz": false,
		"tofu/v1.12.6/tofu_1.12.6_..%2f..%2fx.zip": false, "tofu/v1.12.6/terraform_1.12.6_linux_amd64.zip": false,
		"packer/1.0.0/packer_1.0.0_SHA256SUMS": false, "terraform/1.11.4/terraform_1.11.4_SHA256SUMS.gpgsig": false,
	} {
		parts := strings.Split(name, "/")
		if _, err := k.ParseFile(parts[0], parts[1], parts[2]); (err == nil) != ok || err != nil && !errors.Is(err, ErrNoFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheMakersKeys(t *testing.T) {
	for _, tool := range []string{Tofu, Terraform} {
		if keys, err := (Source{Tool: tool}).keys(); err != nil || len(keys) != 1 {
			t.Errorf("%s: %d keys, %v", tool, len(keys), err)
		}
	}
}

func TestTerraformIsInstalled(t *testing.T) {
	const version = "1.11.4"
	dir, keyFile := t.TempDir(), filepath.Join(t.TempDir(), "key.asc")
	key := releasetest.NewKey(t, keyFile)
	source := Source{Tool: Terraform, URL: "file://" + dir, KeyFile: keyFile}
	var archive, signature bytes.Buffer
	packed := zip.NewWriter(&archive)
	for name, content := range map[string]string{"LICENSE.txt": "…", "terraform": "#!/bin/sh\necho Terraform\n"} {
		w, err := packed.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	name := source.Archive(version, runtime.GOOS, runtime.GOARCH)
	err := packed.Close()
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	if err == nil {
		err = openpgp.DetachSign(&signature, key, strings.NewReader(sums), nil)
	}
	if err := errors.Join(err, os.Mkdir(filepath.Join(dir, version), 0o755)); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{name: archive.Bytes(), source.Sums(version): []byte(sums), source.Signature(version): signature.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, version, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tools := t.TempDir()
	got, err := Install(t.Context(), source, tools, version, nil)
	if err != nil || got.Path != filepath.Join(tools, "terraform-1.11.4") {
		t.Fatalf("%+v, %v", got, err)
	}
	if out, err := exec.Command(got.Path).Output(); err != nil || string(out) != "Terraform\n" {
		t.Errorf("it says %q, %v", out, err)
	}
	if _, err := Install(t.Context(), Source{Tool: Terraform, URL: source.URL}, t.TempDir(), version, nil); err == nil || !strings.Contains(err.Error(), "HashiCorp's key C874011F") {
		t.Errorf("a release that HashiCorp has not signed: %v", err)
	}
}
