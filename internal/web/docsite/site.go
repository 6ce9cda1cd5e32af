// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/web/assets"
)

// SearchPath is the page of the written site that searches.
const SearchPath = "search.html"

// Site returns all files of the site, by their paths.
func (d *Docs) Site(version string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{"style.css", "docs.js", "yuba.svg"} {
		files[name] = assets.Read(name)
	}
	extras, err := d.Extras()
	if err != nil {
		return nil, err
	}
	for _, name := range extras {
		if files[name], err = d.Open(name); err != nil {
			return nil, err
		}
	}
	if files[IndexPath], err = d.Index().Script(); err != nil {
		return nil, err
	}
	for _, p := range d.pages {
		view, err := d.View(p, SearchPath)
		if err != nil {
			return nil, err
		}
		if files[p.Path], err = page(framed{Title: p.Title, Version: version, Root: view.Root, Page: view}); err != nil {
			return nil, err
		}
	}
	results := &Results{Menu: d.menu(SearchPath, nil, SearchPath), InBrowser: true}
	files[SearchPath], err = page(framed{Title: "Search", Version: version, Results: results})
	return files, err
}

func page(f framed) ([]byte, error) {
	var b bytes.Buffer
	if err := written.ExecuteTemplate(&b, "frame", f); err != nil {
		return nil, fmt.Errorf("draw %q: %w", f.Title, err)
	}
	return b.Bytes(), nil
}

// Write writes the site into a directory, which it replaces if it wrote it before.
func (d *Docs) Write(dir, version string) error {
	files, err := d.Site(version)
	if err != nil {
		return err
	}
	// What is replaced must be a site: a mistyped directory loses nothing.
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, IndexPath)); err != nil {
			return fmt.Errorf("write the site to %s: the directory has other files. Name one that does not exist", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("replace the site in %s: %w", dir, err)
		}
	}
	for name, data := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // a site is for everybody
			return fmt.Errorf("write the site: %w", err)
		}
		if err := os.WriteFile(at, data, 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("write the site: %w", err)
		}
	}
	return nil
}
