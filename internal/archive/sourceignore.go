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

// UpstreamRules say how a tree is packed that came from an upstream instead of from somebody's working directory: what
// was committed or published was meant, so .gitignore and .terraformignore do not count. A link that leads out of the
// tree is left out instead of refused, since nobody here can mend it.
type UpstreamRules struct {
	// SourceIgnore leaves out what Flux leaves out: its default excludes and what .sourceignore files name.
	SourceIgnore bool
	// Ignore are the patterns of the source object's spec.ignore, which win over those of the files.
	Ignore string
}

// maxLeftOut is how many links Stats names.
const maxLeftOut = 10

// listUpstream returns the names of the files and links that an upstream's tree is packed with.
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

// upstreamDir collects one directory. Patterns are asked about files only, as Flux does it: a file may be named again
// below a directory that is excluded.
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

// leavesTree tells whether a link cannot be packed.
func (l *lister) leavesTree(name string) bool {
	target, err := l.root.Readlink(filepath.FromSlash(name))
	return err != nil || checkLink(name, filepath.ToSlash(target)) != nil
}

// sourceIgnores appends the patterns of all .sourceignore files, those of deeper directories last. They are read through
// the root: one that is a link to somewhere else does not count.
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
