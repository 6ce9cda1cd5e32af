// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"

	"github.com/yuba-dev/yuba/internal/archive"
)

// DefaultIgnore returns the default patterns of excluded files, as in "flux push artifact".
func DefaultIgnore() []string {
	return strings.Split(sourceignore.ExcludeVCS+","+sourceignore.ExcludeExt, ",")
}

// built describes a layer.
type built struct {
	files int
	// links are excluded: Flux does not unpack them.
	links []string
	// size is that of the archive in bytes.
	size int64
}

// build writes a tree, or a single file, in the format of Flux's layers: in the order of names, with
// names, sizes and git's modes only. Other modes depend on the umask.
func build(ctx context.Context, dir string, ignore []string, w io.Writer) (built, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return built{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	b := newBuilder(w)
	if info.IsDir() {
		err = b.tree(ctx, dir, ignore)
	} else {
		err = b.single(dir, filepath.Base(dir))
	}
	if err = errors.Join(err, b.close()); err != nil {
		return built{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	if b.files == 0 {
		return built{}, fmt.Errorf("pack %s: it contains no file that is not ignored", dir)
	}
	b.size = b.out.n
	return b.built, nil
}

type builder struct {
	out *bounded
	gz  *gzip.Writer
	tar *tar.Writer
	built
}

func newBuilder(w io.Writer) *builder {
	b := &builder{out: &bounded{w: w}}
	b.gz = gzip.NewWriter(b.out)
	b.tar = tar.NewWriter(b.gz)
	return b
}

func (b *builder) close() error { return errors.Join(b.tar.Close(), b.gz.Close()) }

func (b *builder) tree(ctx context.Context, dir string, ignore []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	ignored := sourceignore.NewMatcher(sourceignore.ReadPatterns(strings.NewReader(strings.Join(ignore, "\n")), nil))
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case name == ".":
			return b.header(name, nil)
		case archive.NeverPacked(name) && entry.IsDir():
			return fs.SkipDir
		case archive.NeverPacked(name) || ignored.Match(strings.Split(name, "/"), entry.IsDir()):
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			b.links = append(b.links, name)
			return nil
		case entry.IsDir():
			return b.header(name, nil)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file, a directory nor a link; exclude it with --ignore-paths", name)
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		defer f.Close()
		return b.file(f, name)
	})
}

// single packs a tree of one file.
func (b *builder) single(file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(b.header(".", nil), b.file(f, name))
}

func (b *builder) file(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := b.header(name, info); err != nil {
		return err
	}
	b.files++
	n, err := io.Copy(b.tar, f)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n < info.Size() {
		return fmt.Errorf("%s was changed while it was read; try again", name)
	}
	return err
}

// header begins the entry of a file, or without one of a directory.
func (b *builder) header(name string, file fs.FileInfo) error {
	h := &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
	if file != nil {
		h = &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: file.Size()}
		if file.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
	}
	return b.tar.WriteHeader(h)
}

// bounded limits the bytes of an archive.
type bounded struct {
	w io.Writer
	n int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n += int64(len(p)); b.n > archive.DefaultMaxPacked {
		return 0, &archive.LimitError{What: "the artifact's size in bytes", Limit: archive.DefaultMaxPacked}
	}
	return b.w.Write(p)
}

// stdinName is the file name of manifests from standard input.
const stdinName = "manifest.yaml"

// saveStream saves a stream to a file in dir: it must be complete before anything is sent.
func saveStream(r io.Reader, dir string) (string, error) {
	file := path.Join(dir, stdinName)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(&bounded{w: f}, r)
	return file, errors.Join(err, f.Close())
}
