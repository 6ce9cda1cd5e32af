// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// packageDigest is the digest of an installed package's content, "h1:…" as lock files have it for
// providers; empty if it cannot be computed. The metadata of git is not part of it: it differs from
// clone to clone.
func packageDigest(source *os.Root, root, key string) string {
	dir := path.Join(root, workspace.ModulesTF, key)
	var names []string
	var bytes int64
	err := fs.WalkDir(source.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == dir+"/.git":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink == 0 && !entry.Type().IsRegular():
			return errors.New("it is not a file")
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		if names = append(names, strings.TrimPrefix(name, dir+"/")); len(names) > maxPackageFiles || bytes > modules.MaxTreeBytes {
			return errors.New("it is too large")
		}
		return nil
	})
	if err != nil || len(names) == 0 {
		return ""
	}
	sum, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		name = path.Join(dir, name)
		if target, err := source.Readlink(name); err == nil { // never followed
			return io.NopCloser(strings.NewReader("link to " + target)), nil
		}
		return source.Open(name)
	})
	if err != nil {
		return ""
	}
	return sum
}

// maxPackageFiles limits the files of a package with a digest.
const maxPackageFiles = 50_000
