// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package assets has the stylesheet, the script and the pictures of the web page. They are written by
// hand and served as they are: nothing is bundled, and nothing else is loaded.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

//go:embed *.css *.js *.svg
var files embed.FS

// Edition identifies the content of all assets.
func Edition() string {
	sum := sha256.New()
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		sum.Write([]byte(name))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Read returns an asset, which must exist.
func Read(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return data
}

// Handler serves the assets below /assets/, compressed for those who take that. Pages name them with an
// edition, so browsers may keep those of the server's own for as long as they like.
func Handler(edition string) http.Handler {
	short := compressed()
	server := http.FileServerFS(files)
	tag := `"` + Edition() + `"`
	return http.StripPrefix("/assets/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if r.URL.RawQuery == edition {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		w.Header().Set("ETag", tag)
		w.Header().Set("Vary", "Accept-Encoding")
		data, ok := short[r.URL.Path]
		if !ok || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			server.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(data))
	}))
}

// compressed are the assets, compressed.
func compressed() map[string][]byte {
	all := map[string][]byte{}
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	for _, name := range names {
		var short bytes.Buffer
		w, err := gzip.NewWriterLevel(&short, gzip.BestCompression)
		if err != nil {
			panic(err) // the level is fixed
		}
		w.Write(Read(name)) //nolint:errcheck // a buffer takes everything
		w.Close()           //nolint:errcheck // a buffer takes everything
		all[name] = short.Bytes()
	}
	return all
}
