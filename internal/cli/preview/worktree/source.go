// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package worktree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxPacked keeps a mistake from filling the disk. The server has a lower limit.
	maxPacked = 1 << 30
	// maxFiles and maxKept are those of the server's own analysis, roughly.
	maxFiles = 500_000
	maxKept  = 256 << 20
)

// Source is a packed tree in a temporary file.
type Source struct {
	file *os.File
	Tree discover.Tree
}

// Open opens the archive once more, for one reader.
func (s *Source) Open() (*os.File, error) { return os.Open(s.file.Name()) }

// Close removes the archive.
func (s *Source) Close() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }

// WorkingTree packs the files that git tracks or would track, as they are now. ignore are the patterns
// of the GitRepository's spec.ignore.
func (r *Repository) WorkingTree(ctx context.Context, ignore string) (*Source, error) {
	out, err := r.run(ctx, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", r.Root, err)
	}
	return r.packed(ctx, ignore, func(dir string) error {
		for _, name := range split(out) {
			if err := copyFile(r.Root, dir, filepath.FromSlash(name)); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// Commit packs the tree of a commit, as git would check it out.
func (r *Repository) Commit(ctx context.Context, commit, ignore string) (*Source, error) {
	return r.packed(ctx, ignore, func(dir string) error {
		// An index of its own leaves that of the user alone.
		index, err := os.MkdirTemp("", "yuba-preview-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(index) //nolint:errcheck // a temporary directory
		env := []string{"GIT_INDEX_FILE=" + filepath.Join(index, "index")}
		if _, err := r.run(ctx, env, "read-tree", commit); err != nil {
			return err
		}
		_, err = r.run(ctx, env, "checkout-index", "--all", "--force", "--prefix="+filepath.ToSlash(dir)+"/")
		return err
	})
}

// packed makes a source of a temporary tree.
func (r *Repository) packed(ctx context.Context, ignore string, fill func(dir string) error) (_ *Source, err error) {
	dir, err := os.MkdirTemp("", "yuba-preview-*")
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", r.Root, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err := fill(dir); err != nil {
		return nil, fmt.Errorf("copy %s: %w", r.Root, err)
	}
	return pack(ctx, dir, &archive.UpstreamRules{SourceIgnore: true, Ignore: ignore})
}

func pack(ctx context.Context, dir string, rules *archive.UpstreamRules) (_ *Source, err error) {
	file, err := os.CreateTemp("", "yuba-preview-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", dir, err)
	}
	s := &Source{file: file}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if _, _, err = archive.Pack(ctx, dir, file, archive.PackOptions{MaxPacked: maxPacked, Upstream: rules}); err != nil {
		return nil, err
	}
	s.Tree, err = ReadTree(ctx, file)
	return s, err
}

// ReadTree reads the tree of an archive, from its beginning.
func ReadTree(ctx context.Context, packed io.ReadSeeker) (discover.Tree, error) {
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return discover.Tree{}, err
	}
	x, err := archive.ReadIndex(ctx, packed, archive.Limits{}.WithDefaults(), "", archive.IndexOptions{MaxFiles: maxFiles, MaxKept: maxKept,
		Keep: module.IsConfigFile, Mark: func([]byte) uint8 { return 0 }})
	if err != nil {
		return discover.Tree{}, fmt.Errorf("read the tree: %w", err)
	}
	return treeOf(x), nil
}

func treeOf(x *archive.Index) discover.Tree {
	t := discover.Tree{Sums: map[string]string{}, Config: func(dir string) map[string][]byte {
		files := map[string][]byte{}
		for _, f := range x.Below(dir) {
			if path.Dir(f.Name) != path.Clean(dir) || !module.IsConfigFile(f.Name) {
				continue
			}
			if content, kept := x.Content(f.Name); kept {
				files[path.Base(f.Name)] = content
			}
		}
		return files
	}}
	for i := range x.Files {
		switch f := &x.Files[i]; {
		case f.Dir:
		case f.Link != "":
			t.Sums[f.Name] = "link " + f.Link
		case f.Executable:
			t.Sums[f.Name] = "program " + hex.EncodeToString(f.Sum[:])
		default:
			t.Sums[f.Name] = hex.EncodeToString(f.Sum[:])
		}
	}
	return t
}

// copyFile copies a file or a link. Directories are submodules, which are left out; missing files are
// deleted ones.
func copyFile(from, to, name string) error {
	info, err := os.Lstat(filepath.Join(from, name))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir():
		return nil
	case err != nil:
		return err
	}
	target := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		leads, err := os.Readlink(filepath.Join(from, name))
		if err != nil {
			return err
		}
		return os.Symlink(leads, target)
	case !info.Mode().IsRegular():
		return nil // git does not track others
	}
	in, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Stored is a source that somebody else packed.
func Stored(ctx context.Context, packed io.Reader) (_ *Source, err error) {
	file, err := os.CreateTemp("", "yuba-preview-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("store a source: %w", err)
	}
	s := &Source{file: file}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	n, err := io.Copy(file, io.LimitReader(packed, maxPacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("store a source: %w", err)
	case n > maxPacked:
		return nil, fmt.Errorf("store a source: it has more than %d bytes", maxPacked)
	}
	s.Tree, err = ReadTree(ctx, file)
	return s, err
}
