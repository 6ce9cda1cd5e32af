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

// maxHaves is how many commits a fetch names as being there. The newest do: what is asked for is
// like them. maxTips is how many fetches a store takes before it is begun anew, so that what nobody
// needs goes away.
const (
	maxHaves = 32
	maxTips  = 128
)

// store is a bare repository without references. What is complete in it is said by its tips: a file
// for every object that was asked for and came, written when all else was. Its content is the
// commit behind the object.
type store struct {
	dir     string
	shallow bool
}

type tip struct {
	want, commit plumbing.Hash
	at           time.Time
}

func (s *store) tip(want plumbing.Hash) string { return filepath.Join(s.dir, "tips", want.String()) }

// has tells whether an object came with everything that belongs to it.
func (s *store) has(want plumbing.Hash) bool {
	_, err := os.Stat(s.tip(want))
	return err == nil
}

// prepare makes the directories and clears away what an interrupted fetch left.
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

// mark says that an object is complete.
func (s *store) mark(want, commit plumbing.Hash) error {
	temp := filepath.Join(s.dir, "tmp", "tip-"+want.String())
	if err := os.WriteFile(temp, []byte(commit.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, s.tip(want))
}

// tips lists what is complete, the newest first.
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

// haves are the commits that a fetch names as being there.
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
