// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// registryOf opens the modules of a data directory's registry.
func registryOf(t *testing.T, dir datadir.Dir) *catalog.Catalog {
	t.Helper()
	bucket, err := blob.OpenPlain(t.Context(), "file://"+dir.Registry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	modules, err := catalog.Open(t.Context(), bucket, catalog.Options{Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return modules
}

// moduleArchive packs a module of one file.
func moduleArchive(t *testing.T) []byte {
	t.Helper()
	const text = "resource \"terraform_data\" \"a\" {}\n"
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	err := files.WriteHeader(&tar.Header{Name: "main.tf", Size: int64(len(text)), Mode: 0o644})
	if err == nil {
		_, err = io.WriteString(files, text)
	}
	if err := errors.Join(err, files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestPublishedModuleIsRestored(t *testing.T) {
	dir := newDir(t, map[string]string{"keys/ca.key": "key", "registry/mirror/providers/a/b/c/d.zip": "cached",
		"registry/yuba/mirror/a.json": "{}", "registry/providers/acme/signing-keys.json": "{}", "registry-spool/mirror/half": "half"})
	packed, vpc := moduleArchive(t), layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: "vpc", System: "aws"}, Version: "1.2.0"}
	published, _, err := registryOf(t, dir).Publish(t.Context(), vpc, bytes.NewReader(packed), catalog.PublishOptions{By: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := storeBytes()
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := Write(t.Context(), &archive, dir, memorySnapshot(store), Origin{Version: "v1"}); err != nil {
		t.Fatal(err)
	}

	restored := newDir(t, nil)
	if _, err := Stage(restored, &archive); err != nil {
		t.Fatal(err)
	}
	if err := ApplyPending(restored, silent); err != nil {
		t.Fatal(err)
	}
	content, release, err := registryOf(t, restored).Archive(t.Context(), vpc)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, packed) {
		t.Errorf("the restored archive has %d bytes (%v), not the %d that were published", len(got), err, len(packed))
	}
	if release.Digest != published.Digest || release.By != "alice" {
		t.Errorf("restored %+v, published %+v", release, published)
	}
	for name, want := range map[string]bool{"registry/providers/acme/signing-keys.json": true, "registry/mirror": false,
		"registry/yuba/mirror": false, "registry-spool": false} {
		if _, err := os.Stat(filepath.Join(string(restored), name)); (err == nil) != want {
			t.Errorf("%s: restored is %t, want %t", name, err == nil, want)
		}
	}
}

func TestBackupWithoutARegistryKeepsTheRegistry(t *testing.T) {
	dir := newDir(t, map[string]string{"keys/ca.key": "new key", "registry/modules/kept": "module"})
	if _, err := Stage(dir, bytes.NewReader(archiveOf(t, before))); err != nil {
		t.Fatal(err)
	}
	if err := ApplyPending(dir, silent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir.Registry(), "modules", "kept")); err != nil {
		t.Error(err)
	}
}
