// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Limits of a bundle.
const (
	MaxFiles = 1000
	MaxBytes = 8 << 20
)

// DefaultPackage is the package of rules, as for Conftest.
const DefaultPackage = "main"

// Bundle has the files of rules by their paths.
type Bundle struct {
	Digest string
	Files  map[string]string
}

// IsFile reports whether a file belongs to a bundle: a module, or data.
func IsFile(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	switch path.Base(name) {
	case "data.json", "data.yaml", "data.yml":
		return true
	}
	return path.Ext(name) == ".rego"
}

// NewBundle makes a bundle of files. Those that do not belong to one are left out.
func NewBundle(files map[string]string) (*Bundle, error) {
	b := &Bundle{Files: map[string]string{}}
	size, modules := 0, 0
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !IsFile(name) {
			continue
		}
		if path.Ext(name) == ".rego" {
			modules++
		}
		b.Files[name] = files[name]
		size += len(files[name])
		for _, text := range []string{name, files[name]} {
			sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) //nolint:errcheck // a hash never fails
			sum.Write([]byte(text))                                          //nolint:errcheck // a hash never fails
		}
	}
	switch {
	case modules == 0:
		return nil, errors.New("there are no files *.rego")
	case len(b.Files) > MaxFiles:
		return nil, fmt.Errorf("the rules have %d files: at most %d are allowed", len(b.Files), MaxFiles)
	case size > MaxBytes:
		return nil, fmt.Errorf("the rules have %d bytes: at most %d are allowed", size, MaxBytes)
	}
	b.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return b, nil
}

// ReadBundle reads the bundle in a directory. Links are not followed.
func ReadBundle(dir fs.FS) (*Bundle, error) {
	files, size := map[string]string{}, int64(0)
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || !IsFile(name) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > MaxBytes || len(files) >= MaxFiles {
			return fmt.Errorf("the rules have more than %d files or %d bytes", MaxFiles, MaxBytes)
		}
		text, err := fs.ReadFile(dir, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return NewBundle(files)
}

// Pack writes the bundle, and Unpack reads it again.
func (b *Bundle) Pack() ([]byte, error) { return json.Marshal(b.Files) }

// Unpack reads a packed bundle, which must have the digest.
func Unpack(packed []byte, digest string) (*Bundle, error) {
	var files map[string]string
	if err := json.Unmarshal(packed, &files); err != nil {
		return nil, fmt.Errorf("read the bundle %s: %w", digest, err)
	}
	b, err := NewBundle(files)
	if err != nil {
		return nil, fmt.Errorf("read the bundle %s: %w", digest, err)
	}
	if b.Digest != digest {
		return nil, fmt.Errorf("the bundle %s is damaged: its files have the digest %s", digest, b.Digest)
	}
	return b, nil
}
