// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// Limits of an archive. The largest known providers unpack to less than 1 GiB and a handful of files.
const (
	MaxArchive = 4 << 30
	maxContent = 8 << 30
	maxFiles   = 20_000
)

// ContentHash returns the "h1:" hash of an archive's content, as tools compute it.
func ContentHash(archive io.ReaderAt, size int64) (string, error) {
	z, err := openZip(archive, size)
	if err != nil {
		return "", err
	}
	files := make(map[string]*zip.File, len(z.File))
	var names []string
	for _, file := range z.File {
		if !fs.ValidPath(strings.TrimSuffix(file.Name, "/")) {
			return "", fmt.Errorf("it contains %q, which does not stay in the directory where it is unpacked", file.Name)
		}
		if files[file.Name] != nil {
			return "", fmt.Errorf("it contains %q twice", file.Name)
		}
		files[file.Name] = file
		names = append(names, file.Name)
	}
	budget := int64(maxContent)
	h1, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		r, err := files[name].Open()
		if err != nil {
			return nil, err
		}
		return &limited{r, &budget}, nil
	})
	if err != nil {
		return "", fmt.Errorf("read its content: %w", err)
	}
	return h1, nil
}

// limited fails when the content of an archive exceeds a budget: a small archive can unpack to more
// than a machine reads in a day.
type limited struct {
	io.ReadCloser
	budget *int64
}

var errBomb = errors.New("it unpacks to more than 8 GiB, which no provider has")

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if *l.budget -= int64(n); *l.budget < 0 {
		return n, errBomb
	}
	return n, err
}

// HasProgram returns an error if an archive lacks the program of a provider, which tools find by its
// name.
func HasProgram(archive io.ReaderAt, size int64, provider string) error {
	z, err := openZip(archive, size)
	if err != nil {
		return err
	}
	prefix := "terraform-provider-" + provider
	for _, file := range z.File {
		if rest, ok := strings.CutPrefix(file.Name, prefix); ok && !strings.Contains(file.Name, "/") && (rest == "" || strings.ContainsAny(rest[:1], "_.")) {
			return nil
		}
	}
	return fmt.Errorf("it does not contain a program %s_v…", prefix)
}

// Sum computes the SHA-256 sum of a reader's content in hexadecimal.
func Sum(r io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(hash, r)
	return hex.EncodeToString(hash.Sum(nil)), err
}
