// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// packed writes a bundle to a file.
func packed(t *testing.T, dir string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "bundle.tar"))
	if err == nil {
		_, err = Pack(context.Background(), dir, file)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// What is read in place is what was verified: a change of the file afterwards is found, wherever it is.
func TestAChangeAfterTheVerificationIsFound(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 3*chunk+17)
	rand.Read(content) //nolint:errcheck // it never fails
	if err := os.WriteFile(filepath.Join(dir, "large"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	path := packed(t, dir)
	a, err := OpenFile(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close() //nolint:errcheck // only read
	read := func() ([]byte, error) {
		r, err := a.Reader("large")
		if err != nil {
			t.Fatal(err)
		}
		return io.ReadAll(r)
	}
	if got, err := read(); err != nil || !bytes.Equal(got, content) {
		t.Fatal(len(got), err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{content[2*chunk] ^ 1}, a.places["large"].offset+2*chunk); err != nil {
		t.Fatal(err)
	}
	var invalid *InvalidError
	if _, err := read(); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "somebody changed the file") {
		t.Errorf("a changed byte: %v", err)
	}
	if err := errors.Join(file.Truncate(chunk), file.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a shorter file: %v", err)
	}
	if err := a.Extract(t.Context(), t.TempDir(), "large"); err == nil {
		t.Error("it is extracted nevertheless")
	}
}

// countedReads counts the reads of a file.
type countedReads struct {
	*os.File
	n atomic.Int64
}

func (c *countedReads) ReadAt(p []byte, at int64) (int, error) {
	c.n.Add(1)
	return c.File.ReadAt(p, at)
}

// Parallel uploads read a bundle in small parts. Each reader verifies a chunk once.
func TestReadersThatTakeTurnsReadEachChunkOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 2*chunk), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(packed(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	from := &countedReads{File: file}
	a, err := Open(t.Context(), from, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	one, errOne := a.Reader("a")
	two, errTwo := a.Reader("b")
	if err := errors.Join(errOne, errTwo); err != nil {
		t.Fatal(err)
	}
	before, read, text := from.n.Load(), 0, make([]byte, 32<<10)
	for range 2 * chunk / len(text) {
		for _, r := range []io.Reader{one, two} {
			n, err := io.ReadFull(r, text)
			if read += n; err != nil {
				t.Fatal(err)
			}
		}
	}
	// Files of two chunks that begin within one touch three.
	if got := from.n.Load() - before; got != 6 || read != 4*chunk {
		t.Errorf("%d reads for %d bytes, want one for each of 3 chunks of 2 files", got, read)
	}
}

// A sparse file has other content than the archive has at its place.
func TestASparseFileIsRefused(t *testing.T) {
	text := "1\n1\n1\n" + strings.Repeat("\x00", 506) + "x"
	sum := sha256.Sum256([]byte("\x00x"))
	index, err := json.Marshal(Index{Version: version, Files: []File{{Path: "a", Size: 2, SHA256: hex.EncodeToString(sum[:])}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := add(w, indexName, int64(len(index)), bytes.NewReader(index)); err != nil {
		t.Fatal(err)
	}
	// Go writes no sparse files: this header is one of PAX, version 1.0, written as the records that GNU tar writes.
	raw := record("GNU.sparse.major=1") + record("GNU.sparse.minor=0") + record("GNU.sparse.name=a") + record("GNU.sparse.realsize=2")
	for _, f := range []struct {
		head tar.Header
		text string
	}{{tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: int64(len(raw)), Format: tar.FormatUSTAR}, raw}, {tar.Header{Name: "s", Typeflag: tar.TypeReg, Size: int64(len(text)), Format: tar.FormatUSTAR}, text}} {
		if err := w.WriteHeader(&f.head); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := out.Bytes()
	makeExtended(t, archive, len(raw))
	if _, err := Open(t.Context(), bytes.NewReader(archive), int64(len(archive))); err == nil || !strings.Contains(err.Error(), "is sparse") {
		t.Error(err)
	}
}

// record is a record of a PAX header.
func record(text string) string {
	size := len(text) + 3 // two digits and a space; the newline replaces one digit fewer
	for {
		line := itoa(size) + " " + text + "\n"
		if len(line) == size {
			return line
		}
		size = len(line)
	}
}

func itoa(n int) string {
	text, _ := json.Marshal(n) //nolint:errcheck // a number
	return string(text)
}

// makeExtended makes the header of the file "x" one of PAX.
func makeExtended(t *testing.T, archive []byte, size int) {
	t.Helper()
	for at := 0; at < len(archive); at += 512 {
		block := archive[at : at+512]
		if block[0] != 'x' || block[1] != 0 || !bytes.Contains(block, []byte("ustar")) {
			continue
		}
		block[156] = 'x'
		copy(block[148:156], "        ")
		sum := 0
		for _, b := range block {
			sum += int(b)
		}
		copy(block[148:156], []byte{byte('0' + sum>>15&7), byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7), byte('0' + sum&7), 0, ' '})
		return
	}
	t.Fatalf("no header of %d bytes", size)
}

// Nothing is written to a disk on which it does not fit.
func TestAFullDiskIsFoundBeforeAnythingIsWritten(t *testing.T) {
	from := t.TempDir()
	for name, size := range map[string]int{"large": 3 << 20, "small": 1} {
		if err := os.WriteFile(filepath.Join(from, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := OpenFile(t.Context(), packed(t, from), "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close() //nolint:errcheck // only read
	before := freeIn
	defer func() { freeIn = before }()
	freeIn = func(string) (int64, error) { return slack + 1<<20, nil }
	dir := t.TempDir()
	err = a.Extract(t.Context(), dir, "large")
	var full *NoSpaceError
	if !errors.As(err, &full) || !strings.Contains(err.Error(), dir+" needs 67 MB, and its disk has 65 MB free. Free 2 MB there") {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is written (%v)", left, err)
	}
	if err := a.Extract(t.Context(), dir, "small"); err != nil {
		t.Errorf("what fits: %v", err)
	}
}

// Images go from registry to bundle to registry, with the same digests, and are not unpacked on the way.
func TestImagesAreReadInPlace(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	want := map[string]v1.Hash{}
	var names []string
	for _, repository := range []string{"team/app:v1", "team/other:v2"} {
		image, err := random.Image(1<<20, 2)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference(host + "/" + repository)
		if err == nil {
			err = remote.Write(ref, image)
		}
		if err == nil {
			want[repository], err = image.Digest()
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, host+"/"+repository)
	}
	dir := t.TempDir()
	// random images have no platform, so any will do.
	c := Content{Images: names, Platforms: []layout.Platform{{}}}
	if err := c.images(t.Context(), dir, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	a, err := OpenFile(t.Context(), packed(t, dir), "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close() //nolint:errcheck // only read
	// A directory for temporary files that does not exist: nothing can be unpacked there.
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if err := a.Push(t.Context(), host+"/inside", true, func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	for repository, digest := range want {
		ref, err := name.ParseReference(host + "/inside/" + repository)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := remote.Head(ref); err != nil || got.Digest != digest {
			t.Errorf("%s: %+v %v, want %s", repository, got, err, digest)
		}
	}
}
