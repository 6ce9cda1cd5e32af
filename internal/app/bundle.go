// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/bundle"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
)

// BundleOptions are about the bundle that a server starts with.
type BundleOptions struct {
	// Path is the archive; empty for none. Digest is the one that it must have; empty for any.
	Path, Digest string

	// archive is read in place, and trusted is whether its digest was given.
	archive *bundle.Archive
	trusted bool
}

// useBundle verifies a bundle, and makes the options use it: tofu and providers come from there only. Releases of tofu are
// unpacked below a directory, beside the data; everything else is read in place.
func (o *Common) useBundle(ctx context.Context, below string) error {
	if o.Bundle.Path == "" {
		return nil
	}
	a, err := bundle.OpenFile(ctx, o.Bundle.Path, o.Bundle.Digest)
	if err != nil {
		return fmt.Errorf("use the bundle %s: %w", o.Bundle.Path, err)
	}
	dir, err := unpackTools(ctx, a, below)
	if err != nil {
		return fmt.Errorf("use the bundle %s: %w", o.Bundle.Path, errors.Join(err, a.Close()))
	}
	o.Bundle.archive, o.Bundle.trusted = a, o.Bundle.Digest != ""
	if dir != "" {
		o.ToolSource.URL = (&url.URL{Scheme: "file", Path: filepath.Join(dir, filepath.FromSlash(bundle.ToolDir))}).String()
	}
	o.Registry.MirrorOffline = true
	o.Registry.bundle = o.Bundle
	newNarrator(o).say("Using the bundle %s. The mirror of providers works offline", o.Bundle.Path)
	return nil
}

// unpackTools unpacks the releases of tofu. Their directory is named by the bundle's digest, and there only when it is whole.
// It is empty if the bundle has none.
func unpackTools(ctx context.Context, a *bundle.Archive, below string) (string, error) {
	// Somebody may have changed what an earlier start unpacked, and tools were installed from it.
	if err := os.RemoveAll(below); err != nil || !a.Has(bundle.ToolDir) {
		return "", err
	}
	if err := os.MkdirAll(below, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(below, "unpack-")
	if err != nil {
		return "", err
	}
	if err := a.Extract(ctx, work, bundle.ToolDir); err != nil {
		return "", errors.Join(err, os.RemoveAll(work))
	}
	dir := filepath.Join(below, strings.TrimPrefix(a.Digest, "sha256:"))
	return dir, os.Rename(work, dir)
}

// importBundle imports the providers of the bundle into the mirror, which verifies them again, and closes the bundle: nothing
// else of it is used.
func importBundle(ctx context.Context, m *mirror.Mirror, o BundleOptions) (err error) {
	if o.archive == nil {
		return nil
	}
	defer func() { err = errors.Join(err, o.archive.Close()) }()
	from, err := o.archive.Reader(bundle.ProvidersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := m.Import(ctx, from, mirror.ImportOptions{AllowUnsigned: o.trusted, AllowNewKeys: o.trusted}); err != nil {
		hint := ""
		if !o.trusted {
			hint = "\nWith --bundle-digest, which \"yuba bundle create\" printed, the bundle's own keys are accepted"
		}
		return fmt.Errorf("import the providers of the bundle %s: %w%s", o.Path, err, hint)
	}
	return nil
}
