// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Limits configure a collection of unused packages.
type Limits struct {
	// Unused is how long an unused package is kept.
	Unused time.Duration
	// Bytes is the maximum size of the store: the oldest unused packages are removed first. Zero
	// means no limit.
	Bytes int64
}

// DefaultLimits keeps everything that was used within a month. A provider of a large cloud has 700
// MB: twenty versions of it fit.
func DefaultLimits() Limits { return Limits{Unused: 30 * 24 * time.Hour, Bytes: 16 << 30} }

// minUnused is the minimum age for removal: a working directory may be about to link to the
// package.
const minUnused = time.Hour

// Collected is what a collection removed.
type Collected struct {
	Packages int
	Bytes    int64
}

// Collect removes unused packages and abandoned files. It keeps packages whose directories are
// linked, and packages that are held.
func (s *Store) Collect(limits Limits, linked map[string]bool) (Collected, error) {
	problems := []error{s.sweep()}
	all, err := s.list()
	problems = append(problems, err)
	var total int64
	for _, e := range all {
		total += e.Size
	}
	slices.SortFunc(all, func(a, b entry) int { return a.Used.Compare(b.Used) })
	var done Collected
	for _, e := range all {
		unused := s.Now().Sub(e.Used)
		wanted := unused < limits.Unused && (limits.Bytes == 0 || total <= limits.Bytes)
		if wanted || unused < minUnused || linked[e.Dir] {
			continue
		}
		removed, err := s.removePackage(e)
		problems = append(problems, err)
		if removed {
			done.Packages, done.Bytes = done.Packages+1, done.Bytes+e.Size
			total -= e.Size
		}
	}
	return done, errors.Join(problems...)
}

// entry is a package that list found.
type entry struct {
	*Package
	scope *Scope
}

// list reads all records. It skips unreadable ones: the next fetch replaces them.
func (s *Store) list() ([]entry, error) {
	var all []entry
	for _, c := range s.scopes() {
		root := c.path(recordsName)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			relative, _ := filepath.Rel(root, path) // path begins with root
			parts := strings.Split(filepath.ToSlash(relative), "/")
			if err != nil || d.IsDir() || len(parts) != 5 || parts[4] != platform()+".json" {
				return err
			}
			a, err := ParseAddress(strings.Join(parts[:3], "/"), "")
			if err != nil {
				return nil
			}
			p, err := c.peek(a, parts[3])
			if p != nil {
				all = append(all, entry{p, c})
			}
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// peek is Hold without holding the package or counting as a use.
func (c *Scope) peek(a Address, version string) (*Package, error) {
	file, err := os.Open(c.recordPath(a, version))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	p, err := c.hold(file, a, version)
	if p != nil {
		p.record = nil
	}
	return p, err
}

func (s *Store) scopes() []*Scope {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	var all []*Scope
	for _, e := range entries {
		if e.IsDir() && plainScope.MatchString(e.Name()) {
			all = append(all, &Scope{store: s, Name: e.Name()})
		}
	}
	return all
}

// removePackage removes a package unless it is held.
func (s *Store) removePackage(e entry) (removed bool, err error) {
	path := e.scope.recordPath(e.Address, e.Version)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()                                                            //nolint:errcheck // it was only read
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		return false, nil //nolint:nilerr // somebody holds it
	}
	// A process that has opened the record and waits for its lock notices that it is gone, and
	// fetches again.
	if err := os.Remove(path); err != nil {
		return false, err
	}
	accepted, _ := filepath.Glob(globQuoted(path) + ".accepted-*") // the pattern is valid
	for _, name := range accepted {
		_ = os.Remove(name) // useless without the package, and tiny
	}
	return true, s.discard(e.Dir)
}

// leftAfter is the maximum age of unfinished work.
const leftAfter = 24 * time.Hour

// sweep removes files of dead processes, and answers that have not been used for a long time.
func (s *Store) sweep() error {
	problems := []error{s.Clean()}
	old := func(pattern string, age time.Duration) {
		paths, _ := filepath.Glob(filepath.Join(globQuoted(s.dir), pattern))
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && s.Now().Sub(info.ModTime()) > age {
				problems = append(problems, filetree.RemovePath(path))
			}
		}
	}
	old(trashName+"/*", leftAfter)
	old(stagingName+"/*.lock", leftAfter) // locks of single fetches
	old("*/"+answersName+"/*", 90*24*time.Hour)
	for _, c := range s.scopes() {
		problems = append(problems, c.sweepRests())
	}
	return errors.Join(problems...)
}

// sweepRests removes old packages without a record, such as those of an interrupted download.
func (c *Scope) sweepRests() error {
	var problems []error
	paths, _ := filepath.Glob(filepath.Join(globQuoted(c.Mirror()), "*", "*", "*", "*", "*"))
	for _, path := range paths {
		relative, _ := filepath.Rel(c.Mirror(), path) // path begins with it
		info, err := os.Stat(path)
		if _, missing := os.Stat(c.path(recordsName, relative+".json")); err == nil && errors.Is(missing, fs.ErrNotExist) && c.store.Now().Sub(info.ModTime()) > leftAfter {
			problems = append(problems, c.store.discard(path))
		}
	}
	return errors.Join(problems...)
}

// Clean removes the staged downloads of processes that have ended.
func (s *Store) Clean() error { return s.staging().Clean() }

func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Stored is a package as lists show it.
type Stored struct {
	Package
	Scope string
}

// List returns the content of a store, by address and version. Others may use the store meanwhile.
// A missing directory is an empty store.
func List(dir string) ([]Stored, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("list the store of providers: %w", err)
	}
	all, err := (&Store{dir: dir, Now: time.Now}).list()
	var list []Stored
	for _, e := range all {
		list = append(list, Stored{*e.Package, e.scope.Name})
	}
	slices.SortFunc(list, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(a.Address.String(), b.Address.String()), cmp.Compare(a.Version, b.Version), cmp.Compare(b.Scope, a.Scope))
	})
	return list, err
}
