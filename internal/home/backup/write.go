// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// Format is the version of the archive's layout.
const Format = 1

const (
	headerName   = "yuba-backup.json"
	snapshotName = "etcd.db"
	keysName     = "keys"
	blobsName    = "blobs"
	registryName = "registry"
	manifestName = "manifest.json"
)

// Origin says where an archive comes from.
type Origin struct {
	Version string    `json:"version"`
	Created time.Time `json:"created"`
}

// header is the archive's first member.
type header struct {
	Format int `json:"format"`
	// DataFormat is the format of the data directory.
	DataFormat int `json:"dataFormat"`
	Origin
}

// manifest is the archive's last member.
type manifest struct {
	Members []member `json:"members"`
}

type member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Snapshot is a consistent view of the API's store, of known size.
type Snapshot interface {
	Size() int64
	io.WriterTo
}

// writer writes members and collects the manifest.
type writer struct {
	tar     *tar.Writer
	created time.Time
	done    manifest
}

// Write writes the archive of a data directory with the given snapshot of its store.
func Write(ctx context.Context, to io.Writer, dir datadir.Dir, snapshot Snapshot, origin Origin) error {
	w := &writer{tar: tar.NewWriter(to), created: origin.Created}
	head, err := json.Marshal(header{Format: Format, DataFormat: datadir.Format, Origin: origin})
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := w.bytes(headerName, head); err != nil {
		return err
	}
	err = w.add(snapshotName, snapshot.Size(), func(to io.Writer) error {
		_, err := snapshot.WriteTo(to)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.tree(ctx, keysName, dir.Keys()); err != nil {
		return err
	}
	if err := w.tree(ctx, blobsName, dir.Blobs()); err != nil {
		return err
	}
	if err := w.registry(ctx, dir.Registry()); err != nil {
		return err
	}
	end, err := json.Marshal(w.done)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := w.bytes(manifestName, end); err != nil {
		return err
	}
	if err := w.tar.Close(); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

func (w *writer) bytes(name string, data []byte) error {
	return w.add(name, int64(len(data)), func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

func (w *writer) add(name string, size int64, content func(io.Writer) error) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.created, Format: tar.FormatPAX})
	if err != nil {
		return fmt.Errorf("write %s into the backup: %w", name, err)
	}
	sum := sha256.New()
	if err := content(io.MultiWriter(w.tar, sum)); err != nil {
		return fmt.Errorf("write %s into the backup: %w", name, err)
	}
	w.done.Members = append(w.done.Members, member{Name: name, Size: size, SHA256: hexOf(sum)})
	return nil
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// registry adds the registry's bucket without what its mirror can download again. A module's archive is
// written before what is known of it, and known facts are read from the archive if they are missing.
func (w *writer) registry(ctx context.Context, root string) error {
	return w.tree(ctx, registryName, root, filepath.Join(root, "mirror"), filepath.Join(root, "yuba", "mirror"))
}

// tree adds the regular files below root, except below the directories left out. It ignores files that
// disappear meanwhile: they were deleted.
func (w *writer) tree(ctx context.Context, name, root string, without ...string) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || ctx.Err() != nil:
			return fmt.Errorf("write %s into the backup: %w", name, cmp.Or(err, ctx.Err()))
		case entry.IsDir() && slices.Contains(without, file):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		return w.file(path.Join(name, filepath.ToSlash(strings.TrimPrefix(file, root))), file)
	})
}

// file adds one file with its size at opening. Blobs, keys and the registry's files are replaced by rename, so an open
// file does not change.
func (w *writer) file(name, path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var info fs.FileInfo
	if err == nil {
		defer file.Close()
		info, err = file.Stat()
	}
	if err != nil {
		return fmt.Errorf("write %s into the backup: %w", name, err)
	}
	return w.add(name, info.Size(), func(to io.Writer) error {
		_, err := io.CopyN(to, file, info.Size())
		return err
	})
}
