// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// layers is a directory of compressed layers, named after the digests of their archives. It spares
// compressing the same files again.
type layers struct {
	dir  string
	used map[string]bool
}

// layer is a compressed layer in a file.
type layer struct {
	path           string
	digest, diffID v1.Hash
	size           int64
}

// add returns the layer with a tree.
func (l *layers) add(t tree) (v1.Layer, error) {
	plain := sha256.New()
	if err := t.write(plain); err != nil {
		return nil, err
	}
	found := layer{diffID: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}}
	name := found.diffID.Hex + ".tar.gz"
	found.path = filepath.Join(l.dir, name)
	l.used[name] = true
	if _, err := os.Stat(found.path); errors.Is(err, os.ErrNotExist) {
		err = compress(t, found.path)
		if err != nil {
			return nil, fmt.Errorf("compress a layer: %w", err)
		}
	}
	file, err := os.Open(found.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if found.digest, found.size, err = v1.SHA256(file); err != nil {
		return nil, err
	}
	return partial.CompressedToLayer(&found)
}

// compress writes a tree to a file, which appears when it is complete.
func compress(t tree, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(to), "new")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err == nil {
			err = os.Rename(file.Name(), to)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	zipped := gzip.NewWriter(file)
	return errors.Join(t.write(zipped), zipped.Close())
}

// clean removes the layers that this build did not use.
func (l *layers) clean() error {
	entries, err := os.ReadDir(l.dir)
	for _, entry := range entries {
		if !l.used[entry.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(l.dir, entry.Name())))
		}
	}
	return err
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)  { return os.Open(l.path) }
