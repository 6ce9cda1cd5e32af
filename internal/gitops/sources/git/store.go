// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// maxHaves limits the commits that a fetch names as present. The newest suffice: they are the
	// most similar to the requested one.
	maxHaves = 32
	// maxTips is the number of fetches after which a store is replaced, to drop unused objects.
	maxTips = 128
)

// store is a bare repository without references. A tip marks a complete object: a file that is
// written after everything else of a fetch, and contains the object's commit.
type store struct {
	dir     string
	shallow bool
}

type tip struct {
	want, commit plumbing.Hash
	at           time.Time
}

func (s *store) tip(want plumbing.Hash) string { return filepath.Join(s.dir, "tips", want.String()) }

// has reports whether an object is complete.
func (s *store) has(want plumbing.Hash) bool {
	_, err := os.Stat(s.tip(want))
	return err == nil
}

// prepare creates the directories and removes the remains of an interrupted fetch.
func (s *store) prepare() error {
	if err := os.RemoveAll(filepath.Join(s.dir, "tmp")); err != nil {
		return err
	}
	for _, name := range []string{"objects/pack", "refs", "tips", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// mark marks an object as complete.
func (s *store) mark(want, commit plumbing.Hash) error {
	temp := filepath.Join(s.dir, "tmp", "tip-"+want.String())
	if err := os.WriteFile(temp, []byte(commit.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, s.tip(want))
}

// tips lists complete objects, the newest first.
func (s *store) tips() ([]tip, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tips"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tips []tip
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(filepath.Join(s.dir, "tips", entry.Name()))
		if err != nil {
			return nil, err
		}
		one := tip{want: plumbing.NewHash(entry.Name()), commit: plumbing.NewHash(strings.TrimSpace(string(content))), at: info.ModTime()}
		if one.commit.IsZero() {
			return nil, &damageError{one.want, fmt.Errorf("its mark is empty")}
		}
		tips = append(tips, one)
	}
	sort.Slice(tips, func(i, j int) bool { return tips[i].at.After(tips[j].at) })
	return tips, nil
}

// haves returns the commits that a fetch names as present.
func haves(tips []tip) []plumbing.Hash {
	var hashes []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for _, one := range tips {
		if !seen[one.commit] && len(hashes) < maxHaves {
			seen[one.commit] = true
			hashes = append(hashes, one.commit)
		}
	}
	return hashes
}
