// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package damagetest copies directories, damages files in them as crashes, disks and people do, and
// detects changes.
package damagetest

import (
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Copy copies a directory into a new one.
func Copy(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	CopyTo(t, from, to)
	return to
}

// CopyTo copies a file, or the content of a directory. It keeps holes: logs of etcd have 64 MiB of
// them.
func CopyTo(t testing.TB, from, to string) {
	t.Helper()
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		from += "/."
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}

var seed = maphash.MakeSeed()

// Digest is a digest of the names and contents below a directory, except some files. It is only
// comparable in one process.
func Digest(t testing.TB, dir string, except ...string) uint64 {
	t.Helper()
	var sum maphash.Hash
	sum.SetSeed(seed)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path) //nolint:errcheck // it is below dir
		if err != nil || slices.Contains(except, name) {
			return err
		}
		fmt.Fprintln(&sum, name)
		if entry.IsDir() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // read only
		n, err := io.Copy(&sum, file)
		fmt.Fprintln(&sum, n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Sum64()
}

// Newest is the last file that matches a pattern, by name.
func Newest(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no %s, %v", pattern, err)
	}
	return found[len(found)-1]
}

// Remove removes a file or a directory.
func Remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// Cut changes the length of a file.
func Cut(t testing.TB, path string, length func(int64) int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, length(info.Size())); err != nil {
		t.Fatal(err)
	}
}

// Empty is a length for [Cut]: zero.
func Empty(int64) int64 { return 0 }

// Half is a length for [Cut]: half of the file.
func Half(size int64) int64 { return size / 2 }

// Overwrite replaces bytes of a file.
func Overwrite(t testing.TB, path string, at int64, with []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // WriteAt tells
	if _, err := file.WriteAt(with, at); err != nil {
		t.Fatal(err)
	}
}

// inUse limits the damaged part of a large file: etcd's logs end with zeros.
const inUse = 600_000

// AtRandom damages one of the files that match patterns below a directory, and returns a
// description.
func AtRandom(t testing.TB, random *rand.Rand, dir string, patterns ...string) string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	path := files[random.IntN(len(files))]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := min(int64(len(data)), inUse)
	at := random.Int64N(size)
	piece := make([]byte, min(1+random.Int64N(8192), size-at))
	kind := random.IntN(6)
	switch kind {
	case 0:
		Remove(t, path)
	case 1:
		Cut(t, path, func(int64) int64 { return at })
	case 2:
		Overwrite(t, path, at, piece)
	case 3: // a sector
		begin := at &^ 4095
		Overwrite(t, path, begin, make([]byte, min(4096, size-begin)))
	case 4:
		for i := range piece {
			piece[i] = byte(random.Uint32())
		}
		Overwrite(t, path, at, piece)
	case 5:
		Overwrite(t, path, at, []byte{data[at] ^ 1<<random.IntN(8)})
	}
	return fmt.Sprintf("%s, kind %d at %d", filepath.Base(path), kind, at)
}
