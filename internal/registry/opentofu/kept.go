// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/opentofu/program"
)

// Kept keeps files of releases in the registry's bucket, below yuba/tools/TOOL/VERSION/, and fetches
// missing ones. It stores and returns only verified files. It is safe for concurrent use: a file is
// fetched once for all who wait for it.
type Kept struct {
	Bucket *blob.Plain
	// Sources are the origins of the tools, by name.
	Sources map[string]Source
	// Spool is for downloads; it must exist. A few archives are there at the same time.
	Spool download.Staging
	// Allow are the versions that [Kept.Provide] may download.
	Allow Allow

	flights   download.Flights
	watchers  watchers
	once      sync.Once
	downloads *limiter.Limiter
}

// maxDownloads is the number of archives that are downloaded at the same time.
const maxDownloads = 4

// place waits for a place to download.
func (k *Kept) place(ctx context.Context) (leave func(), err error) {
	k.once.Do(func() { k.downloads = limiter.New(maxDownloads) })
	return k.downloads.Take(ctx, "")
}

// ErrNoFile is wrapped by errors about files that no release has.
var ErrNoFile = errors.New("no release has this file")

// File is a file of a release.
type File struct {
	Tool, Version, Name string
}

var platformArchive = regexp.MustCompile(`^_[a-z0-9]{1,20}_[a-z0-9]{1,20}(\.tar\.gz|\.zip)$`)

// PlatformOf is the platform of an archive, OS_ARCH; empty for other files.
func PlatformOf(archive string) string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(archive, ".zip"), ".tar.gz"), "_")
	if len(parts) != 4 || !platformArchive.MatchString("_"+parts[2]+"_"+parts[3]+".zip") || strings.HasSuffix(archive, "SHA256SUMS") {
		return ""
	}
	return parts[2] + "_" + parts[3]
}

// ParseFile checks a tool, the directory of a version, and the name of a file, as they are in
// addresses: tofu, v1.12.6, tofu_1.12.6_SHA256SUMS.
func (k *Kept) ParseFile(tool, folder, name string) (File, error) {
	f := File{Tool: tool, Name: name}
	source, known := k.Sources[tool]
	if !known {
		return f, fmt.Errorf("%w: there is no tool %q; the tools are tofu and terraform", ErrNoFile, tool)
	}
	var err error
	// Both forms are accepted: the tools' own sites differ.
	if f.Version, err = ParseVersion(folder); err != nil {
		return f, fmt.Errorf("%w: %w", ErrNoFile, err)
	}
	rest, ok := strings.CutPrefix(name, source.name()+"_"+f.Version)
	if name != source.Sums(f.Version) && name != source.Signature(f.Version) && !(ok && platformArchive.MatchString(rest)) {
		return f, fmt.Errorf("%w: a version of %s has %s, %s and archives such as %s", ErrNoFile, tool, source.Sums(f.Version),
			source.Signature(f.Version), source.Archive(f.Version, "linux", "amd64"))
	}
	return f, nil
}

func (f File) key(name string) string { return prefix + f.Tool + "/" + f.Version + "/" + name }

// Open opens a file that is kept already; the error wraps [blob.ErrNotFound] if it is not.
func (k *Kept) Open(ctx context.Context, f File) (io.ReadCloser, int64, error) {
	info, err := k.Bucket.Stat(ctx, f.key(f.Name))
	if err != nil {
		return nil, 0, err
	}
	r, err := k.Bucket.Open(ctx, f.key(f.Name))
	return r, info.Size, err
}

// FetchBy fetches, verifies and keeps a file because somebody wants it. The error wraps [ErrNoFile] if
// the release lacks it.
func (k *Kept) FetchBy(ctx context.Context, f File, by string) error {
	err := k.flights.Do(ctx, f.key(f.Name), func(ctx context.Context) error { return k.fetch(ctx, f, by) })
	if errors.Is(err, errAbsent) {
		return fmt.Errorf("keep %s: %w: %w", f.Name, ErrNoFile, err)
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", f.Name, err)
	}
	return nil
}

func (k *Kept) fetch(ctx context.Context, f File, by string) error {
	if there, err := k.have(ctx, f); err != nil || there { // an earlier flight has just ended
		return err
	}
	source := k.Sources[f.Tool]
	sums, err := k.keepSums(ctx, f, by)
	if err != nil || f.Name == source.Sums(f.Version) || f.Name == source.Signature(f.Version) {
		return err
	}
	sum, ok := sumOf(sums, f.Name)
	if !ok {
		return fmt.Errorf("%w: %s does not list it", ErrNoFile, source.Sums(f.Version))
	}
	leave, err := k.place(ctx)
	if err != nil {
		return err
	}
	defer leave()
	staged, err := k.Spool.New()
	if err != nil {
		return fmt.Errorf("create a directory for the download: %w", err)
	}
	defer staged.Remove()
	root, err := os.OpenRoot(staged.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	if err := program.Verified(ctx, root.Name()+"/archive", f.Name, sum, source.archive(f.Version, f.Name, k.progress(f))); err != nil {
		return err
	}
	file, err := root.Open("archive")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return k.put(ctx, f.key(f.Name), file)
}

// keepSums returns a version's verified list of checksums. It keeps the list with its signature, and
// records their origin, before any archive: an archive that is there has its checksum there.
func (k *Kept) keepSums(ctx context.Context, f File, by string) ([]byte, error) {
	if sums, err := k.sums(ctx, f); err == nil || !errors.Is(err, blob.ErrNotFound) {
		return sums, err
	}
	source := k.Sources[f.Tool]
	sums, signature, signer, err := source.signedSums(ctx, f.Version)
	if err != nil {
		return nil, err
	}
	if err := k.record(ctx, f, by, signer); err != nil {
		return nil, err
	}
	// The list comes last: with it, the signature is there.
	if err := k.put(ctx, f.key(source.Signature(f.Version)), bytes.NewReader(signature)); err != nil {
		return nil, err
	}
	return sums, k.put(ctx, f.key(source.Sums(f.Version)), bytes.NewReader(sums))
}

// put stores a verified file, unless another server was faster.
func (k *Kept) put(ctx context.Context, key string, content io.Reader) error {
	err := k.Bucket.Create(ctx, key, content)
	if errors.Is(err, blob.ErrExists) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
