// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/registry/download"
)

// Release is a program to place: the archive of a tool for one platform.
type Release struct {
	// Tool is the name of the program, tofu or terraform.
	Tool, Version string
	// Archive is the name of the archive; its suffix tells the format. SHA256 is its checksum.
	Archive, SHA256 string
}

// Path returns the path of a version of a tool in a directory of tools.
func Path(dir, tool, version string) string { return filepath.Join(dir, tool+"-"+version) }

// Place places a program. fetch writes the archive.
func Place(ctx context.Context, dir string, r Release, fetch func(ctx context.Context, to io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	staging := download.Staging(dir)
	if err := staging.Clean(); err != nil {
		return err
	}
	work, err := staging.New()
	if err != nil {
		return err
	}
	defer work.Remove()
	packed, program := filepath.Join(work.Dir, "archive"), filepath.Join(work.Dir, "program")
	if err := Verified(ctx, packed, r.Archive, r.SHA256, fetch); err != nil {
		return err
	}
	if err := unpack(packed, r, program); err != nil {
		return fmt.Errorf("unpack %s: %w", r.Archive, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(program, Path(dir, r.Tool, r.Version)); err != nil {
		return err
	}
	return syncDir(dir)
}

// Verified writes an archive to a new file and verifies its checksum.
func Verified(ctx context.Context, path, archive, sum string, fetch func(ctx context.Context, to io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	err = fetch(ctx, io.MultiWriter(file, hash))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != sum {
		return fmt.Errorf("verify %s: its checksum is %s, but the signed one is %s. The file was damaged or replaced in transit. Nothing was installed", archive, got, sum)
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
