// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// maxReason limits the reason of a notice, which plans show.
const maxReason = 1000

// noticeKey is the key of a release's notice.
func noticeKey(v layout.ModuleVersion) string {
	return ownPrefix + v.Module.String() + "/" + noticesDir + "/" + v.Version + ".json"
}

// Mark sets the notice of a release; nil removes it. It returns an *inspect.Error for a notice that
// is not valid, and an error that wraps [ErrNone] for an unknown release.
func (c *Catalog) Mark(ctx context.Context, v layout.ModuleVersion, notice *Notice) (Release, error) {
	if notice != nil {
		fixed := *notice
		if fixed.At.IsZero() {
			fixed.At = c.opts.Now().UTC()
		}
		notice = &fixed
		if err := checkNotice(v, notice); err != nil {
			return Release{}, err
		}
	}
	if _, err := c.record(ctx, v); err != nil {
		return Release{}, err
	}
	if notice == nil {
		if err := c.bucket.Delete(ctx, noticeKey(v)); err != nil {
			return Release{}, fmt.Errorf("remove the notice of %s: %w", v, err)
		}
	} else {
		text, err := json.Marshal(notice)
		if err == nil {
			err = c.bucket.Put(ctx, noticeKey(v), bytes.NewReader(text))
		}
		if err != nil {
			return Release{}, fmt.Errorf("mark %s as %s: %w", v, notice.Kind, err)
		}
	}
	c.change(v, func(r *record) { r.notice, r.noted = notice, stamp{} })
	return c.Release(ctx, v)
}

// Revoked reports whether a release is known to be revoked. It asks nobody.
func (c *Catalog) Revoked(v layout.ModuleVersion) bool {
	r := c.entry(v.Module).get(v.Version)
	return r != nil && r.notice != nil && r.notice.Kind == Revoked
}

func checkNotice(v layout.ModuleVersion, n *Notice) error {
	problem := ""
	switch {
	case n.Kind != Deprecated && n.Kind != Revoked:
		problem = fmt.Sprintf("its kind is %q, expected %q or %q", n.Kind, Deprecated, Revoked)
	case strings.TrimSpace(n.Reason) == "":
		problem = "it has no reason; users see the reason in their plans"
	case len(n.Reason) > maxReason:
		problem = fmt.Sprintf("its reason has more than %d bytes", maxReason)
	case strings.ContainsFunc(n.Reason, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }):
		problem = "its reason has control characters"
	default:
		return nil
	}
	return &inspect.Error{Reason: fmt.Sprintf("the notice for %s is not valid: %s", v, problem)}
}

// readNotices reads the notices of a list that the index does not have.
func (c *Catalog) readNotices(ctx context.Context, f *found) error {
	return inParallel(len(f.notes), func(i int) error {
		n := f.notes[i]
		r := f.modules[n.Module][n.Version]
		if known := c.entry(n.Module).get(n.Version); known != nil && known.noted == n.stamp {
			r.noted = n.stamp // merge takes the known one
			return nil
		}
		notice, err := c.readNotice(ctx, n.ModuleVersion)
		if err != nil {
			return err
		}
		r.notice, r.noted = notice, n.stamp
		return nil
	})
}

// readNotice returns nil if the notice is gone. A notice that cannot be understood still is one.
func (c *Catalog) readNotice(ctx context.Context, v layout.ModuleVersion) (*Notice, error) {
	text, err := c.bucket.Get(ctx, noticeKey(v), maxNotice)
	var tooLarge *blob.TooLargeError
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, nil
	case errors.As(err, &tooLarge):
	case err != nil:
		return nil, err
	}
	var n Notice
	if json.Unmarshal(text, &n) != nil || checkNotice(v, &n) != nil {
		c.opts.Log.Warn("a notice is not readable", "module", v.String(), "key", noticeKey(v))
		return &Notice{Kind: Revoked, Reason: "its notice in the registry's bucket is not readable"}, nil
	}
	return &n, nil
}
