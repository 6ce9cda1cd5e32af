// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// base returns the commit to change: that of the branch, unless all its commits were merged.
func (m *mirror) base(ctx context.Context, given *advert, e Edit) (target, error) {
	branch, noBranch := given.branch(e.Branch)
	from, noFrom := m.from(ctx, given, e.From)
	switch {
	case noBranch != nil:
		return from, noFrom
	case noFrom != nil || from.commit == branch[0].commit || from.pinned:
		return branch[0], nil
	}
	// Without the history the branch is taken as it is.
	if merged, err := m.contains(ctx, from, branch[0].commit); err == nil && merged {
		return from, nil
	}
	return branch[0], ctx.Err()
}

func (m *mirror) from(ctx context.Context, given *advert, ref Ref) (target, error) {
	targets, err := resolve(given, ref)
	if err != nil {
		return target{}, err
	}
	if len(targets) == 1 {
		return targets[0], nil
	}
	return m.latest(ctx, targets)
}

// maxWalk limits the commits of a history that are read.
const maxWalk = 100_000

// contains reports whether a commit is t's or an ancestor of it, as far as the history is known.
func (m *mirror) contains(ctx context.Context, t target, ancestor plumbing.Hash) (found bool, err error) {
	if t.commit == ancestor {
		return true, nil
	}
	full := m.store(false)
	if err := m.fetchAll(ctx, full, t); err != nil {
		return false, err
	}
	err = m.read(ctx, full, func(o *objects) error {
		met, next := map[plumbing.Hash]bool{t.commit: true}, []plumbing.Hash{t.commit}
		for len(next) > 0 && len(met) < maxWalk && !found {
			if err := ctx.Err(); err != nil {
				return err
			}
			_, content, err := o.read(next[0], maxText)
			if err != nil {
				return err
			}
			next = next[1:]
			for _, parent := range parentsOf(content) {
				found = found || parent == ancestor
				if !met[parent] {
					met[parent] = true
					next = append(next, parent)
				}
			}
		}
		return nil
	})
	return found, err
}

// parentsOf returns the parents in a commit's header.
func parentsOf(content []byte) (parents []plumbing.Hash) {
	for line := range bytes.Lines(content) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if hash, is := strings.CutPrefix(text, "parent "); is {
			parents = append(parents, plumbing.NewHash(hash))
		}
	}
	return parents
}
