// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// archive is what a source serves, and what its object says about it.
type archive struct {
	data []byte
	// digest is the digest in the object; if empty, that of the data.
	digest string
	// answer replaces the normal response.
	answer http.HandlerFunc
}

// entry is one entry of an archive.
type entry struct {
	name, content, link string
	kind                byte
	size                int64
}

func packed(entries ...entry) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: 0o644, Size: int64(len(e.content)), Format: tar.FormatPAX}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.size > 0 {
			h.Size = e.size
		}
		must(w.WriteHeader(h))
		if e.size > 0 {
			_, err := io.CopyN(w, zeros{}, e.size)
			must(err)
			continue
		}
		_, err := w.Write([]byte(e.content))
		must(err)
	}
	must(w.Close())
	must(zipped.Close())
	return out.Bytes()
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func zip(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	must(err)
	must(w.Close())
	return out.Bytes()
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// badArchives are stacks whose source serves an invalid archive, or one that must not be unpacked.
func badArchives() []*badInput {
	program := entry{name: "main.tf", content: "output \"a\" { value = 1 }\n"}
	good, unique := packed(program), 1
	// Each archive has different content, because Yuba does not fetch the same content twice.
	served := func(answer http.HandlerFunc) *archive {
		unique++
		return &archive{data: packed(entry{name: "main.tf", content: fmt.Sprintf("output \"a\" { value = %d }\n", unique)}), answer: answer}
	}
	with := func(entries ...entry) *archive { return &archive{data: packed(append(entries, program)...)} }
	return []*badInput{
		{Name: "archive-good", Ends: endsApplied, archive: &archive{data: good}},
		{Name: "archive-text", Says: []string{"archive"}, archive: &archive{data: []byte("this is not an archive")}},
		{Name: "archive-empty-file", Says: []string{"archive"}, archive: &archive{}},
		{Name: "archive-without-entries", Ends: endsSettled, archive: &archive{data: packed()}},
		{Name: "archive-zip-of-text", Says: []string{"archive"}, archive: &archive{data: zip("this is not a tar")}},
		{Name: "archive-cut", Says: []string{"archive"}, archive: &archive{data: good[:len(good)/2]}},
		{Name: "archive-damaged", Says: []string{"archive"}, archive: &archive{data: append(bytes.Clone(good[:len(good)-8]), 1, 2, 3, 4, 5, 6, 7, 8)}},
		{Name: "archive-not-zipped", Ends: endsSettled, Says: []string{"archive"}, archive: &archive{data: []byte(strings.Repeat("\x00", 1024))}},
		{Name: "archive-other-digest", Says: []string{"digest"}, archive: &archive{data: good, digest: "sha256:" + strings.Repeat("0", 64)}},
		{Name: "archive-weak-digest", Says: []string{"digest"}, archive: &archive{data: good, digest: "md5:" + strings.Repeat("0", 32)}},
		{Name: "archive-nonsense-digest", Says: []string{"digest"}, archive: &archive{data: good, digest: "sha256:../../etc/passwd"}},
		{Name: "archive-outside", Says: []string{"../evil.tf"}, Ends: endsSettled, archive: with(entry{name: "../evil.tf", content: "}{"})},
		{Name: "archive-absolute", Ends: endsSettled, archive: with(entry{name: "/etc/evil.tf", content: "x"})},
		{Name: "archive-link-outside", Ends: endsSettled, archive: with(entry{name: "passwd.tf", link: "/etc/passwd", kind: tar.TypeSymlink})},
		{Name: "archive-link-to-parent", Ends: endsSettled, archive: with(entry{name: "up", link: "../../..", kind: tar.TypeSymlink}, entry{name: "up/evil.tf", content: "x"})},
		{Name: "archive-link-circle", Ends: endsSettled, archive: with(entry{name: "a.tf", link: "b.tf", kind: tar.TypeSymlink}, entry{name: "b.tf", link: "a.tf", kind: tar.TypeSymlink})},
		{Name: "archive-hard-link", Ends: endsSettled, archive: with(entry{name: "shadow.tf", link: "/etc/shadow", kind: tar.TypeLink})},
		{Name: "archive-device", Ends: endsSettled, archive: with(entry{name: "null.tf", kind: tar.TypeChar})},
		{Name: "archive-pipe", Ends: endsSettled, archive: with(entry{name: "pipe.tf", kind: tar.TypeFifo})},
		{Name: "archive-file-and-folder", Ends: endsSettled, archive: with(entry{name: "a", content: "x"}, entry{name: "a/b.tf", content: ""})},
		{Name: "archive-entry-twice", Ends: endsSettled, archive: with(entry{name: "b.tf", content: "}{"}, entry{name: "b.tf", content: ""})},
		{Name: "archive-odd-name", Ends: endsSettled, archive: with(entry{name: "new\nline\x01.tf", content: ""})},
		{Name: "archive-invalid-utf8", Says: []string{"odd.tf"}, archive: with(entry{name: "odd.tf", content: "output \"\xff\xfe\" { value = 1 }\n"})},
		{Name: "archive-long-name", Ends: endsSettled, archive: with(entry{name: strings.Repeat("x", 300) + ".tf", content: ""})},
		{Name: "archive-deep-folders", Ends: endsSettled, archive: with(entry{name: strings.Repeat("d/", 3000) + "x.tf", content: ""})},
		{Name: "archive-bomb", Says: []string{"archive"}, Ends: endsSettled, archive: with(entry{name: "zeros.bin", size: 256 << 20})},
		{Name: "archive-huge-program", Ends: endsSettled, archive: with(entry{name: "huge.tf", size: 64 << 20})},
		{Name: "archive-not-found", Says: []string{"404"}, archive: served(http.NotFound)},
		{Name: "archive-server-error", Says: []string{"500"}, archive: served(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })},
		{Name: "archive-redirects", Says: []string{"redirect"}, archive: served(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })},
		{Name: "archive-hangs-up", Says: []string{"archive-hangs-up"}, archive: served(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			w.Write(good) //nolint:errcheck // the rest never comes
		})},
		{Name: "archive-path-nowhere", Says: []string{"no/such/dir"}, archive: &archive{data: good}, Spec: map[string]any{"path": "no/such/dir"}},
	}
}
