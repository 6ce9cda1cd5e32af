// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// huge is an archive of a header, many times the same central header, and an end. It is not in memory.
type huge struct {
	record []byte
	count  int64
	end    []byte
	read   int64
}

func (h *huge) size() int64 { return h.count*int64(len(h.record)) + int64(len(h.end)) }

func (h *huge) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		from := h.end
		offset := at + int64(n) - h.count*int64(len(h.record))
		if offset < 0 {
			from, offset = h.record, (at+int64(n))%int64(len(h.record))
		}
		if offset >= int64(len(from)) {
			return n, io.EOF
		}
		n += copy(p[n:], from[offset:])
	}
	h.read += int64(n)
	return n, nil
}

// newHuge makes an archive of count entries that claims to have others.
func newHuge(count int64, claimed uint64) *huge {
	record := make([]byte, 46, 47)
	copy(record, "PK\x01\x02")
	binary.LittleEndian.PutUint16(record[28:], 1) // the length of the name
	h := &huge{record: append(record, 'x'), count: count}
	size := uint64(count) * uint64(len(h.record))
	le := binary.LittleEndian
	end := append([]byte("PK\x06\x06"), make([]byte, 52)...)
	le.PutUint64(end[4:], 44)
	le.PutUint64(end[24:], claimed)
	le.PutUint64(end[32:], claimed)
	le.PutUint64(end[40:], size)
	locator := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	le.PutUint64(locator[8:], size)
	le.PutUint32(locator[16:], 1)
	classic := append([]byte("PK\x05\x06"), bytes.Repeat([]byte{0xff}, 16)...)
	h.end = append(append(end, locator...), append(classic, 0, 0)...)
	return h
}

func TestTheDirectoryOfAnArchiveIsLimitedBeforeItIsRead(t *testing.T) {
	const many = 65536*153 + 100
	for name, c := range map[string]struct {
		archive *huge
		want    string
	}{
		"10 million entries":                          {newHuge(many, many), "it has 10027108 files, more than the limit of 20000"},
		"10 million entries that claim to be a few":   {newHuge(many, many%65536), "its directory has more than 4 MiB"},
		"a few entries that claim to be many":         {newHuge(10, 100_000_000), "it has 100000000 files"},
		"an archive of nothing but many signatures":   {&huge{record: []byte("PK\x06\x07"), count: many, end: []byte("PK\x05\x06")}, "it is not a zip archive"},
		"somewhat more entries than a provider has":   {newHuge(maxFiles+1, (maxFiles+1)%65536), "it has 20001 files"},
		"a few entries, with the end of a large file": {newHuge(10, 10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := openZip(c.archive, c.archive.size())
			runtime.ReadMemStats(&after)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 || c.archive.read > 8<<20 {
				t.Errorf("it allocated %d MiB and read %d MiB", allocated>>20, c.archive.read>>20)
			}
		})
	}
}

func TestArchivesWithManyFilesAreRead(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range maxFiles {
		f, err := w.Create(fmt.Sprintf("files/%d", i))
		if err == nil {
			_, err = f.Write([]byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if h1, err := ContentHash(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil || !strings.HasPrefix(h1, "h1:") {
		t.Errorf("%s, %v", h1, err)
	}
}
