// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/yuba-dev/yuba/internal/registry/opentofu/program"
)

// Limits of a release. Archives of 1.12 have 35 MB.
const (
	maxSums      = 1 << 20
	maxSignature = 64 << 10
	maxArchive   = 512 << 20
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

func (s Source) path(dir, version string) string { return program.Path(dir, s.name(), version) }

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
	release := program.Release{Tool: s.name(), Version: version, Archive: archive, SHA256: sum}
	return signer, program.Place(ctx, dir, release, s.archive(version, archive, tell))
}

// archive returns a function that fetches an archive.
func (s Source) archive(version, archive string, tell func(done, total int64)) func(context.Context, io.Writer) error {
	return func(ctx context.Context, to io.Writer) error {
		return s.fetch(ctx, version, archive, maxArchive, to, tell)
	}
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
