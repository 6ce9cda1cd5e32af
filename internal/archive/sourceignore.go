// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// UpstreamRules are for a tree from an upstream. Everything in it was intended, so .gitignore and
// .terraformignore do not count; and links out of it are excluded, since users cannot fix them.
type UpstreamRules struct {
	// SourceIgnore excludes what Flux excludes: its defaults and the patterns in .sourceignore
	// files.
	SourceIgnore bool
	// Ignore holds the patterns of spec.ignore, which override those of the files.
	Ignore string
}

// maxLeftOut limits the links that Stats lists.
const maxLeftOut = 10

// listUpstream returns the files and links to pack from an upstream's tree.
func (l *lister) listUpstream(rules *UpstreamRules) error {
	var patterns []gitignore.Pattern
	if rules.SourceIgnore {
		patterns = append(sourceignore.VCSPatterns(nil), sourceignore.DefaultPatterns(nil)...)
		if err := l.sourceIgnores(".", &patterns); err != nil {
			return err
		}
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(rules.Ignore), nil)...)
	return l.upstreamDir(".", gitignore.NewMatcher(patterns))
}

// upstreamDir collects one directory. As in Flux, patterns apply to files only: a file below an
// excluded directory may be included again.
func (l *lister) upstreamDir(name string, matcher gitignore.Matcher) error {
	entries, err := fs.ReadDir(l.root.FS(), name)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, entry := range entries {
		child := path.Join(name, entry.Name())
		switch {
		case NeverPacked(child):
			l.ignored++
		case entry.IsDir():
			if err := l.upstreamDir(child, matcher); err != nil {
				return err
			}
		case matcher.Match(strings.Split(child, "/"), false):
			l.ignored++
		case entry.Type()&fs.ModeSymlink != 0 && l.leavesTree(child):
			if l.ignored++; len(l.leftOut) < maxLeftOut {
				l.leftOut = append(l.leftOut, child)
			}
		default:
			l.names = append(l.names, child)
		}
	}
	return nil
}

// leavesTree reports whether a link cannot be packed.
func (l *lister) leavesTree(name string) bool {
	target, err := l.root.Readlink(filepath.FromSlash(name))
	return err != nil || checkLink(name, filepath.ToSlash(target)) != nil
}

// sourceIgnores appends the patterns of all .sourceignore files, deeper directories last. It reads
// them through the root, so links out of the tree are ignored.
func (l *lister) sourceIgnores(name string, patterns *[]gitignore.Pattern) error {
	content, err := l.ignoreFile(path.Join(name, sourceignore.IgnoreFile))
	if err != nil {
		return err
	}
	var domain []string
	if name != "." {
		domain = strings.Split(name, "/")
	}
	*patterns = append(*patterns, sourceignore.ReadPatterns(bytes.NewReader(content), domain)...)
	entries, err := fs.ReadDir(l.root.FS(), name)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || entry.Name() == ".git" {
			continue
		}
		if err := l.sourceIgnores(path.Join(name, entry.Name()), patterns); err != nil {
			return err
		}
	}
	return nil
}
