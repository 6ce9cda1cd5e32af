// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// maxIgnoreFile bounds what is read of one ignore file.
const maxIgnoreFile = 1 << 20

// NeverPacked reports what is left out of every archive, whatever the ignore
// files say: it belongs to git or to tofu, and states hold secrets.
func NeverPacked(name string) bool {
	base := path.Base(name)
	switch {
	case base == ".git", base == ".terraform", base == "crash.log":
		return true
	case strings.HasSuffix(base, ".tfstate"), strings.Contains(base, ".tfstate."):
		return true
	}
	return strings.HasPrefix(base, "crash.") && strings.HasSuffix(base, ".log")
}

// alwaysPacked names the file that counts even when git ignores it: without it
// every run would choose its providers anew.
func alwaysPacked(name string) bool { return path.Base(name) == ".terraform.lock.hcl" }

// lister walks a tree and collects what belongs into its archive.
type lister struct {
	root      *os.Root
	terraform []gitignore.Pattern
	names     []string
	ignored   int
	// leftOut names links that lead out of the tree, the first few.
	leftOut []string
}

// list returns the names of files and links, unsorted.
func (l *lister) list() error {
	patterns, err := l.patterns(".terraformignore", nil)
	if err != nil {
		return err
	}
	l.terraform = patterns
	return l.dir(".", nil)
}

// dir collects one directory. git holds the patterns of the .gitignore files
// above; deeper files win over them, and .terraformignore wins over all.
func (l *lister) dir(name string, git []gitignore.Pattern) error {
	var domain []string
	if name != "." {
		domain = strings.Split(name, "/")
	}
	own, err := l.patterns(path.Join(name, ".gitignore"), domain)
	if err != nil {
		return err
	}
	git = append(git[:len(git):len(git)], own...)
	all := append(git[:len(git):len(git)], l.terraform...)
	matcher := gitignore.NewMatcher(all)
	entries, err := fs.ReadDir(l.root.FS(), name)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, entry := range entries {
		child := path.Join(name, entry.Name())
		if NeverPacked(child) {
			l.ignored++
			continue
		}
		if !alwaysPacked(child) && matcher.Match(strings.Split(child, "/"), entry.IsDir()) {
			l.ignored++
			continue
		}
		if !entry.IsDir() {
			l.names = append(l.names, child)
			continue
		}
		if err := l.dir(child, git); err != nil {
			return err
		}
	}
	return nil
}

// patterns reads an ignore file; there need not be one.
func (l *lister) patterns(name string, domain []string) ([]gitignore.Pattern, error) {
	content, err := l.ignoreFile(name)
	if err != nil {
		return nil, err
	}
	var patterns []gitignore.Pattern
	for line := range bytes.Lines(content) {
		text := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		patterns = append(patterns, gitignore.ParsePattern(text, domain))
	}
	return patterns, nil
}

// ignoreFile reads an ignore file; nil when there is none, or something else than a file.
func (l *lister) ignoreFile(name string) ([]byte, error) {
	info, err := l.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if info.Size() > maxIgnoreFile {
		return nil, &EntryError{name, fmt.Sprintf("an ignore file may have %d bytes", maxIgnoreFile)}
	}
	content, err := l.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read ignore file: %w", err)
	}
	return content, nil
}
