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
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// displaced are the calls whose code the tool may read from elsewhere than from the package that it
// installs for the call. The tool obeys the directories in its list, which a stack's source can bring
// together with a decoy of the package: such a package has no digest.
func displaced(list []modules.Installed, dirs map[string]string) map[string]bool {
	moved := map[string]bool{}
	for _, m := range list {
		caller, _ := splitKey(m.Key)
		if (module.Call{Source: m.Source}).Local() {
			if there, known := dirs[caller]; known && m.Dir == path.Join(there, m.Source) {
				continue
			}
		} else if inPackage(m.Dir, path.Join(workspace.ModulesTF, m.Key)) {
			continue
		}
		// The packages around it have it, too.
		for key := m.Key; key != ""; key, _ = splitKey(key) {
			moved[key] = true
		}
	}
	return moved
}

// inPackage reports whether the digest of a package covers a directory.
func inPackage(dir, pkg string) bool {
	if dir == pkg {
		return true
	}
	inside, below := strings.CutPrefix(dir, pkg+"/")
	return below && path.Clean(dir) == dir && inside != ".git" && !strings.HasPrefix(inside, ".git/")
}

// splitKey separates the caller's key from the name of a call.
func splitKey(key string) (caller, name string) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}

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
