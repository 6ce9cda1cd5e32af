// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Look returns the current content of an upstream. Failures are *archive.FetchError. It fetches
// only to verify a signature, or to compare versions that differ only in build metadata.
func (m *Mirrors) Look(ctx context.Context, up Upstream, want Want) (*Found, error) {
	found, err := m.look(ctx, up, want)
	if err != nil {
		return nil, explain("check", up, err)
	}
	return found, nil
}

func (m *Mirrors) look(ctx context.Context, up Upstream, want Want) (*Found, error) {
	sparse, err := cleanSparse(want.Sparse)
	if err != nil {
		return nil, err
	}
	mirror, err := m.mirror(up)
	if err != nil {
		return nil, err
	}
	t, err := mirror.resolve(ctx, want.Ref, want.MaxAge)
	if err != nil {
		return nil, err
	}
	found := &Found{Revision: t.revision(), Commit: t.commit.String(), Upstream: mirror.key}
	if want.Verify != nil {
		if found.Verified, err = mirror.verify(ctx, t, *want.Verify); err != nil {
			return nil, err
		}
	}
	c := checkout{sparse: sparse, submodules: want.Submodules}
	found.ContentKey = c.key(mirror.key, t)
	found.Authors = func(ctx context.Context) []string { return mirror.authors(ctx, t) }
	found.Parent = func(ctx context.Context) string { return mirror.parent(ctx, t) }
	found.Fetch = func(ctx context.Context, dir string) error {
		// The mirror may have been removed since.
		mirror, err := m.mirror(up)
		if err == nil {
			err = guarded(func() (err error) {
				found.LeftOut, err = mirror.checkout(ctx, t, c, dir)
				return err
			})
		}
		return explain("fetch "+t.revision()+" of", up, err)
	}
	return found, nil
}

// resolve returns the commit of ref. If a remembered look lacks the reference, it looks again.
func (m *mirror) resolve(ctx context.Context, ref Ref, maxAge time.Duration) (target, error) {
	given, err := m.list(ctx, maxAge)
	if err != nil {
		return target{}, err
	}
	targets, err := resolve(given, ref)
	var problem *upstream.Problem
	if maxAge > 0 && errors.As(err, &problem) && !problem.Stalled {
		if given, err = m.list(ctx, 0); err != nil {
			return target{}, err
		}
		targets, err = resolve(given, ref)
	}
	if err != nil {
		return target{}, err
	}
	if len(targets) == 1 {
		return targets[0], nil
	}
	return m.latest(ctx, targets)
}

// latest selects one of several tags of the same version: the one with the youngest commit.
func (m *mirror) latest(ctx context.Context, targets []target) (target, error) {
	var best target
	var when time.Time
	for _, one := range targets {
		var at time.Time
		err := m.with(ctx, one, func(o *objects) error {
			_, content, err := o.read(one.commit, maxText)
			if err == nil {
				at, err = committed(content)
			}
			return err
		})
		if err != nil {
			return target{}, err
		}
		if best.name == "" || at.After(when) {
			best, when = one, at
		}
	}
	return best, nil
}

// cleanSparse cleans the paths of spec.sparseCheckout.
func cleanSparse(dirs []string) ([]string, error) {
	var clean []string
	for _, dir := range dirs {
		cleaned := path.Clean(strings.TrimPrefix(dir, "./"))
		if cleaned == "." || cleaned == "/" {
			return nil, nil // the whole repository is selected
		}
		if cleaned = strings.Trim(cleaned, "/"); cleaned == ".." || strings.HasPrefix(cleaned, "../") {
			return nil, impossible("the directory %q of sparseCheckout is outside of the repository", dir)
		}
		clean = append(clean, cleaned)
	}
	slices.Sort(clean)
	return slices.Compact(clean), nil
}

// key identifies a tree. It includes the upstream: knowing a commit's hash does not allow reading
// it.
func (c checkout) key(upstream string, t target) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "git\n%s\n%s\n%t\n%s", upstream, t.commit, c.submodules, strings.Join(c.sparse, "\n")))
	return "git:" + hex.EncodeToString(sum[:])
}
