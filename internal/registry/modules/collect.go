// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Limits configure a collection.
type Limits struct {
	// Unused is how long an unused package is kept.
	Unused time.Duration
	// Bytes and Packages limit the store as a whole. Least recently used packages are removed
	// first.
	Bytes    int64
	Packages int
	// Answers is the number of answers to keep in all.
	Answers int
}

// DefaultLimits keeps everything that was used within a month.
func DefaultLimits() Limits {
	return Limits{Unused: 30 * 24 * time.Hour, Bytes: 4 << 30, Packages: 5000, Answers: 20_000}
}

// collectAfter is the growth after which a collection is due.
const collectAfter = 1 << 30

func (s *Store) noteGrowth(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grown += bytes
}

// Crowded reports whether the store has grown so much since the last collection that another one is
// due.
func (s *Store) Crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown > collectAfter
}

// Collected is what a collection removed.
type Collected struct {
	Packages int
	Bytes    int64
}

// stored is a package that list found.
type stored struct {
	scope *Scope
	name  string
	used  time.Time
	bytes int64
}

// leftAfter is the age at which a package without a record, or a partly written document, counts as
// abandoned.
const leftAfter = time.Hour

// Collect removes least recently used packages until the store is within the limits, and abandoned
// files. A caller that is about to copy a removed package gets ErrDamaged, and asks again.
func (s *Store) Collect(limits Limits) (Collected, error) {
	s.mu.Lock()
	s.grown = 0
	s.mu.Unlock()
	problems := []error{s.Clean()}
	var all []stored
	var total int64
	scopes := s.scopes()
	for _, c := range scopes {
		found, err := c.list()
		all, problems = append(all, found...), append(problems, err)
	}
	for _, p := range all {
		total += p.bytes
	}
	slices.SortFunc(all, func(a, b stored) int { return a.used.Compare(b.used) })
	var done Collected
	for i, p := range all {
		if s.Now().Sub(p.used) <= limits.Unused && total <= limits.Bytes && len(all)-i <= limits.Packages {
			break
		}
		problems = append(problems, os.Remove(p.scope.recordPath(p.name)), filetree.RemovePath(p.scope.packagePath(p.name)))
		total -= p.bytes
		done.Packages, done.Bytes = done.Packages+1, done.Bytes+p.bytes
	}
	return done, errors.Join(append(problems, s.collectAnswers(scopes, limits.Answers))...)
}

func (s *Store) scopes() []*Scope {
	entries, _ := os.ReadDir(s.dir) // Clean has read the same directory
	var all []*Scope
	for _, e := range entries {
		if e.IsDir() && (e.Name() == sharedScope || strings.HasPrefix(e.Name(), "own-")) {
			all = append(all, &Scope{s, e.Name()})
		}
	}
	return all
}

// list finds the packages of a scope, and removes unfinished ones.
func (c *Scope) list() (all []stored, err error) {
	entries, err := os.ReadDir(c.path(packagesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil {
			continue // it was removed meanwhile
		}
		at := c.path(packagesName, e.Name())
		name, isRecord := strings.CutSuffix(e.Name(), ".json")
		old := c.store.Now().Sub(info.ModTime()) > leftAfter
		if isRecord {
			p := stored{scope: c, name: name, used: info.ModTime()}
			if list, readErr := c.readRecord(name); readErr == nil {
				p.bytes = list.Bytes
			}
			all = append(all, p)
		} else if _, missing := os.Lstat(at + ".json"); missing != nil && old {
			err = errors.Join(err, filetree.RemovePath(at))
		}
	}
	return all, err
}

// collectAnswers removes answers without a package, expired ones, and the oldest ones above the
// limit.
func (s *Store) collectAnswers(scopes []*Scope, limit int) error {
	type kept struct {
		path    string
		fetched time.Time
	}
	var all []kept
	var problems []error
	for _, c := range scopes {
		paths, _ := filepath.Glob(filepath.Join(globQuoted(c.path(answersName)), "*")) // the pattern is valid
		for _, path := range paths {
			var a Answer
			readErr := readJSON(path, &a)
			_, gone := os.Lstat(c.recordPath(a.Package))
			if readErr != nil || gone != nil || !a.Fixed && s.Now().Sub(a.Fetched) > 2*Recent {
				problems = append(problems, removeOld(path, s.Now(), readErr != nil))
				continue
			}
			all = append(all, kept{path, a.Fetched})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return a.fetched.Compare(b.fetched) })
	for _, k := range all[:max(0, len(all)-limit)] {
		problems = append(problems, os.Remove(k.path))
	}
	return errors.Join(problems...)
}

// removeOld removes a document. It keeps a recent one that may still be being written.
func removeOld(path string, now time.Time, half bool) error {
	if info, err := os.Lstat(path); half && (err != nil || now.Sub(info.ModTime()) < leftAfter) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
