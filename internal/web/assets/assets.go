// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package assets has the stylesheet, the script and the pictures of the web page. They are written by
// hand and served as they are: nothing is bundled, and nothing else is loaded.
package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
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

// Handler serves the assets below /assets/. Pages name them with an edition, so browsers may keep those
// of the server's own for as long as they like.
func Handler(edition string) http.Handler {
	server := http.FileServerFS(files)
	return http.StripPrefix("/assets/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if r.URL.RawQuery == edition {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		server.ServeHTTP(w, r)
	}))
}
