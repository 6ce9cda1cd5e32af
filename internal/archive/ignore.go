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

// maxIgnoreFile limits the size of an ignore file.
const maxIgnoreFile = 1 << 20

// NeverPacked reports whether a name is excluded from every archive, regardless of ignore files: it
// belongs to git or tofu, and states contain secrets.
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

// alwaysPacked names the file that is packed even if git ignores it: without it every run would
// choose its providers again.
func alwaysPacked(name string) bool { return path.Base(name) == ".terraform.lock.hcl" }

// lister walks a tree and collects the files to pack.
type lister struct {
	root      *os.Root
	terraform []gitignore.Pattern
	names     []string
	ignored   int
	// leftOut lists the first few links that lead out of the tree.
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

// dir collects one directory. git holds the patterns of .gitignore files above. Deeper files
// override them, and .terraformignore overrides all.
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

// patterns reads an ignore file, which may be missing.
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

// ignoreFile reads an ignore file; it returns nil if there is none, or it is not a regular file.
func (l *lister) ignoreFile(name string) ([]byte, error) {
	info, err := l.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if info.Size() > maxIgnoreFile {
		return nil, &EntryError{name, fmt.Sprintf("an ignore file may have at most %d bytes", maxIgnoreFile)}
	}
	content, err := l.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read ignore file: %w", err)
	}
	return content, nil
}
