// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/yuba-dev/yuba/internal/registry/download"
)

// Limits of a release. Archives of 1.12 have 35 MB, and the program about 110.
const (
	maxSums      = 1 << 20
	maxSignature = 64 << 10
	maxArchive   = 512 << 20
	maxProgram   = 2 << 30
)

// Installed is a program in the directory of tools.
type Installed struct {
	Path, Version string
	// Already is true if the program was installed before, and nothing was fetched.
	Already bool
	// Signer is the fingerprint of the key that signed the download.
	Signer string
}

// Path returns the path of a version of OpenTofu in a directory of tools.
func Path(dir, version string) string { return Source{}.path(dir, version) }

func (s Source) path(dir, version string) string { return filepath.Join(dir, s.name()+"-"+version) }

// Install fetches a version for this platform, verifies it and installs it in a directory of tools.
// It leaves an existing program unchanged. tell, unless nil, receives the progress of the archive.
//
// Concurrent installations of the same version, in any process, are safe.
func Install(ctx context.Context, s Source, dir, version string, tell func(done, total int64)) (Installed, error) {
	installed := Installed{Path: s.path(dir, version), Version: version}
	if info, err := os.Stat(installed.Path); err == nil {
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return Installed{}, fmt.Errorf("install %s %s: %s exists but is not a program. Remove it and try again", s.Product(), version, installed.Path)
		}
		installed.Already = true
		return installed, nil
	}
	var err error
	if installed.Signer, err = s.install(ctx, dir, version, tell); err != nil {
		return Installed{}, fmt.Errorf("install %s %s: %w", s.Product(), version, err)
	}
	return installed, nil
}

func (s Source) install(ctx context.Context, dir, version string, tell func(done, total int64)) (signer string, err error) {
	archive := s.Archive(version, runtime.GOOS, runtime.GOARCH)
	sum, signer, err := s.signedSum(ctx, version, archive)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	staging := download.Staging(dir)
	if err := staging.Clean(); err != nil {
		return "", err
	}
	work, err := staging.New()
	if err != nil {
		return "", err
	}
	defer work.Remove()
	packed := filepath.Join(work.Dir, "archive")
	if err := s.fetchArchive(ctx, version, archive, sum, packed, tell); err != nil {
		return "", err
	}
	program, unpack := filepath.Join(work.Dir, "program"), unpack
	if s.Tool == Terraform {
		unpack = unpackZip
	}
	if err := unpack(packed, program); err != nil {
		return "", fmt.Errorf("unpack %s: %w", archive, err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := os.Rename(program, s.path(dir, version)); err != nil {
		return "", err
	}
	return signer, syncDir(dir)
}

// signedSum returns the checksum of an archive from the signed list.
func (s Source) signedSum(ctx context.Context, version, archive string) (sum, signer string, err error) {
	sums, _, signer, err := s.signedSums(ctx, version)
	if err != nil {
		return "", "", err
	}
	sum, ok := sumOf(sums, archive)
	if !ok {
		return "", "", fmt.Errorf("%s does not list %s: this release has no program for %s/%s", s.Sums(version), archive, runtime.GOOS, runtime.GOARCH)
	}
	return sum, signer, nil
}

// signedSums fetches a version's list of checksums, and verifies its signature.
func (s Source) signedSums(ctx context.Context, version string) (list, signed []byte, signer string, err error) {
	var sums, signature bytes.Buffer
	err = s.fetch(ctx, version, s.Sums(version), maxSums, &sums, nil)
	if errors.Is(err, errAbsent) {
		return nil, nil, "", fmt.Errorf("%w: this version may not exist", err)
	}
	if err != nil {
		return nil, nil, "", err
	}
	if err := s.fetch(ctx, version, s.Signature(version), maxSignature, &signature, nil); err != nil {
		return nil, nil, "", err
	}
	if signer, err = s.signer(sums.Bytes(), signature.Bytes()); err != nil {
		return nil, nil, "", fmt.Errorf("verify %s: %w. Nothing was installed", s.Sums(version), err)
	}
	return sums.Bytes(), signature.Bytes(), signer, nil
}

// fetchArchive writes an archive to a file and verifies its checksum.
func (s Source) fetchArchive(ctx context.Context, version, archive, sum, path string, tell func(done, total int64)) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	err = s.fetch(ctx, version, archive, maxArchive, io.MultiWriter(file, hash), tell)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != sum {
		return fmt.Errorf("verify %s: its checksum is %s, but the signed one is %s. The file was damaged or replaced in transit. Nothing was installed", archive, got, sum)
	}
	return nil
}

// unpack extracts the program of an archive to a file, and syncs it to disk.
func unpack(archive, path string) error {
	packed, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // it was only read
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("it does not contain the program tofu")
		}
		if err != nil {
			return err
		}
		if entry.Name == "tofu" || entry.Name == "./tofu" {
			return unpackProgram(entry, entries, path)
		}
	}
}

func unpackProgram(entry *tar.Header, from io.Reader, path string) error {
	if entry.Typeflag != tar.TypeReg || entry.Size > maxProgram {
		return fmt.Errorf("its file tofu is not a program: %s with %d bytes", fs.FileMode(entry.Mode), entry.Size)
	}
	return writeProgram(from, path)
}

// unpackZip extracts the program terraform of an archive to a file, and syncs it to disk.
func unpackZip(archive, path string) error {
	packed, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // it was only read
	for _, entry := range packed.File {
		if entry.Name != Terraform {
			continue
		}
		if !entry.Mode().IsRegular() || entry.UncompressedSize64 > maxProgram {
			return fmt.Errorf("its file terraform is not a program: %s with %d bytes", entry.Mode(), entry.UncompressedSize64)
		}
		from, err := entry.Open()
		if err != nil {
			return err
		}
		defer from.Close()              //nolint:errcheck // it was only read
		return writeProgram(from, path) // the reader fails after the declared size
	}
	return errors.New("it does not contain the program terraform")
}

func writeProgram(from io.Reader, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from) // the archive's reader ends after the declared size
	return errors.Join(err, file.Chmod(0o755), file.Sync(), file.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
