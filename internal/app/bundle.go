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

	// dir is where it is unpacked, and trusted whether its digest was given.
	dir     string
	trusted bool
}

// useBundle unpacks a bundle below a directory, and makes the options use it: tofu and providers come from there only.
func (o *Common) useBundle(ctx context.Context, below string) error {
	if o.Bundle.Path == "" {
		return nil
	}
	dir, err := unpackBundle(ctx, &o.Bundle, below)
	if err != nil {
		return fmt.Errorf("use the bundle %s: %w", o.Bundle.Path, err)
	}
	o.Bundle.dir, o.Bundle.trusted = dir, o.Bundle.Digest != ""
	if bundle.Has(dir, bundle.ToolDir) {
		o.ToolSource.URL = (&url.URL{Scheme: "file", Path: filepath.Join(dir, filepath.FromSlash(bundle.ToolDir))}).String()
	}
	o.Registry.MirrorOffline = true
	o.Registry.bundle = o.Bundle
	newNarrator(o).say("Using the bundle %s in %s. The mirror of providers works offline", o.Bundle.Path, dir)
	return nil
}

// unpackBundle unpacks a bundle once: its directory is named by its digest, and there only when it is whole.
func unpackBundle(ctx context.Context, o *BundleOptions, below string) (string, error) {
	file, err := os.Open(o.Path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	// What an earlier start unpacked may have been changed, and tools were installed from it.
	if err := errors.Join(os.RemoveAll(below), os.MkdirAll(below, 0o700)); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(below, "unpack-")
	if err != nil {
		return "", err
	}
	summary, err := bundle.Read(ctx, file, work)
	if err == nil && o.Digest != "" && o.Digest != summary.Digest {
		err = fmt.Errorf("its digest is %s, and --bundle-digest is %s: it is another bundle, or somebody changed it. Nothing of it was used", summary.Digest, o.Digest)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(work))
	}
	dir := filepath.Join(below, strings.TrimPrefix(summary.Digest, "sha256:"))
	return dir, os.Rename(work, dir)
}

// importBundle imports the providers of the bundle into the mirror, which verifies them again.
func importBundle(ctx context.Context, m *mirror.Mirror, o BundleOptions) error {
	if o.dir == "" {
		return nil
	}
	file, err := os.Open(filepath.Join(o.dir, bundle.ProvidersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if _, err := m.Import(ctx, file, mirror.ImportOptions{AllowUnsigned: o.trusted, AllowNewKeys: o.trusted}); err != nil {
		hint := ""
		if !o.trusted {
			hint = "\nWith --bundle-digest, which \"yuba bundle create\" printed, the bundle's own keys are accepted"
		}
		return fmt.Errorf("import the providers of the bundle %s: %w%s", o.Path, err, hint)
	}
	return nil
}
