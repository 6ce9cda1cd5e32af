// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultMaxPacked is the default limit of an archive's size.
const DefaultMaxPacked = 1 << 30

// PackOptions configure Pack.
type PackOptions struct {
	// MaxPacked limits the archive in bytes; 0 means DefaultMaxPacked.
	MaxPacked int64
	// MaxUnpacked limits the total bytes of all files, and MaxEntries their number; 0 means no
	// limit but the archive's.
	MaxUnpacked int64
	MaxEntries  int
	// Upstream is set for a tree from an upstream.
	Upstream *UpstreamRules
}

// Stats describe what was packed.
type Stats struct {
	Files   int // files and links
	Ignored int // excluded files and directories
	// LeftOut lists the first few links that were excluded because they lead out of the tree.
	LeftOut  []string
	Unpacked int64 // bytes of all files
	Packed   int64 // bytes of the archive
}

// Pack writes the tree in dir to w as an archive and returns its digest. After an error the output
// is unusable.
func Pack(ctx context.Context, dir string, w io.Writer, opts PackOptions) (string, Stats, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", Stats{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	defer root.Close()
	l := &lister{root: root}
	if opts.Upstream != nil {
		err = l.listUpstream(opts.Upstream)
	} else {
		err = l.list()
	}
	if err == nil && opts.MaxEntries > 0 && len(l.names) > opts.MaxEntries {
		err = &LimitError{"the number of entries", int64(opts.MaxEntries)}
	}
	if err != nil {
		return "", Stats{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	slices.Sort(l.names)
	p := newPacker(w, opts)
	for _, name := range l.names {
		if err := errors.Join(ctx.Err(), p.addFrom(root, name)); err != nil {
			return "", Stats{}, fmt.Errorf("pack %s: %w", dir, err)
		}
	}
	digest, err := p.close()
	if err != nil {
		return "", Stats{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	p.stats.Ignored, p.stats.LeftOut = l.ignored, l.leftOut
	return digest, p.stats, nil
}

// PackInline writes an archive of an inline program, a map from file names to content, to w and
// returns its digest.
func PackInline(files map[string]string, w io.Writer) (string, error) {
	p := newPacker(w, PackOptions{})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := checkInline(name, files)
		if err == nil {
			err = p.file(name, 0o644, int64(len(files[name])), strings.NewReader(files[name]))
		}
		if err != nil {
			return "", fmt.Errorf("inline program: %w", err)
		}
	}
	digest, err := p.close()
	if err != nil {
		return "", fmt.Errorf("inline program: %w", err)
	}
	return digest, nil
}

func checkInline(name string, files map[string]string) error {
	clean, err := cleanName(name)
	switch {
	case err != nil:
		return err
	case clean != name:
		return &EntryError{name, fmt.Sprintf("write the name as %q", clean)}
	case NeverPacked(name):
		return &EntryError{name, "the name belongs to git or to tofu"}
	}
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		if _, both := files[parent]; both {
			return &EntryError{parent, "the name is used by both a file and a directory"}
		}
	}
	return nil
}

// packer writes entries whose headers contain only name, size and the executable bit.
type packer struct {
	out   *limitedHash
	gz    *gzip.Writer
	tar   *tar.Writer
	stats Stats
	// unpacked limits the bytes of all files.
	unpacked int64
}

func newPacker(w io.Writer, opts PackOptions) *packer {
	limit := cmp.Or(opts.MaxPacked, DefaultMaxPacked)
	p := &packer{out: &limitedHash{w: w, hash: sha256.New(), limit: limit}, unpacked: opts.MaxUnpacked}
	p.gz = gzip.NewWriter(p.out)
	p.tar = tar.NewWriter(p.gz)
	return p
}

func (p *packer) addFrom(root *os.Root, name string) error {
	if _, err := cleanName(name); err != nil {
		return err
	}
	local := filepath.FromSlash(name)
	info, err := root.Lstat(local)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		target, err := root.Readlink(local)
		if err != nil {
			return err
		}
		return p.link(name, filepath.ToSlash(target))
	case !info.Mode().IsRegular():
		return &EntryError{name, "it is neither a file, nor a directory, nor a link; name it in .terraformignore to exclude it"}
	}
	f, err := root.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return p.file(name, mode, info.Size(), f)
}

func (p *packer) file(name string, mode, size int64, content io.Reader) error {
	if p.unpacked > 0 && p.stats.Unpacked+size > p.unpacked {
		return &LimitError{"the size of all files in bytes", p.unpacked}
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0)}
	if err := p.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	n, err := io.Copy(p.tar, content)
	switch {
	case errors.Is(err, tar.ErrWriteTooLong) || err == nil && n < size:
		return &EntryError{name, "the file changed while it was read; try again"}
	case err != nil:
		return fmt.Errorf("add %s: %w", name, err)
	}
	p.stats.Files++
	p.stats.Unpacked += n
	return nil
}

func (p *packer) link(name, target string) error {
	if err := checkLink(name, target); err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777, ModTime: time.Unix(0, 0)}
	if err := p.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	p.stats.Files++
	return nil
}

func (p *packer) close() (string, error) {
	if err := errors.Join(p.tar.Close(), p.gz.Close()); err != nil {
		return "", err
	}
	p.stats.Packed = p.out.written
	return "sha256:" + hex.EncodeToString(p.out.hash.Sum(nil)), nil
}

// limitedHash passes bytes on up to a limit.
type limitedHash struct {
	w       io.Writer
	hash    hash.Hash
	limit   int64
	written int64
}

func (l *limitedHash) Write(b []byte) (int, error) {
	if l.written += int64(len(b)); l.written > l.limit {
		return 0, &LimitError{"the archive's size in bytes", l.limit}
	}
	l.hash.Write(b)
	return l.w.Write(b)
}
