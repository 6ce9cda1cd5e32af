// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/opentofu/program"
)

// Carried are the files that Carry writes below its directory.
func (s Source) Carried(version string, platforms []string) (names []string) {
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "_")
		names = append(names, s.folder(version)+"/"+s.Archive(version, system, arch))
	}
	return append(names, s.folder(version)+"/"+s.Signature(version), s.folder(version)+"/"+s.Sums(version))
}

// Carry writes a release for platforms, OS_ARCH, below a directory, in the layout of a mirror: a Source with the directory's
// file URL has it. It verifies the signature and the checksums; files that are there already are not fetched again.
func (s Source) Carry(ctx context.Context, version string, platforms []string, dir string, tell func(done, total int64)) (signer string, err error) {
	place := filepath.Join(dir, s.folder(version))
	if err := os.MkdirAll(place, 0o755); err != nil {
		return "", err
	}
	sums, signature, signer, err := s.signedSums(ctx, version)
	if err != nil {
		return "", err
	}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "_")
		archive := s.Archive(version, system, arch)
		sum, ok := sumOf(sums, archive)
		if !ok {
			return "", fmt.Errorf("%s does not list %s: this release has no program for %s", s.Sums(version), archive, platform)
		}
		path := filepath.Join(place, archive)
		if _, err := os.Lstat(path); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		part := path + ".part"
		if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := program.Verified(ctx, part, archive, sum, s.archive(version, archive, tell)); err != nil {
			return "", errors.Join(err, os.Remove(part))
		}
		if err := os.Rename(part, path); err != nil {
			return "", err
		}
	}
	return signer, errors.Join(os.WriteFile(filepath.Join(place, s.Signature(version)), signature, 0o644),
		os.WriteFile(filepath.Join(place, s.Sums(version)), sums, 0o644))
}
