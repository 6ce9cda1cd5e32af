// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Tag is a tag of an upstream.
type Tag struct {
	Name string
	// Commit is the commit that it leads to. The server says so; a checkout verifies it.
	Commit string
}

// Tags lists the tags of an upstream by name, from a look of at most maxAge, and returns the
// upstream's key. Failures are *archive.FetchError. It fetches nothing.
func (m *Mirrors) Tags(ctx context.Context, up Upstream, maxAge time.Duration) ([]Tag, string, error) {
	mirror, err := m.mirror(up)
	if err != nil {
		return nil, "", explain("list the tags of", up, err)
	}
	given, err := mirror.list(ctx, maxAge)
	if err != nil {
		return nil, mirror.key, explain("list the tags of", up, err)
	}
	var tags []Tag
	for full := range given.refs {
		if name, isTag := strings.CutPrefix(full, "refs/tags/"); isTag {
			found, _ := given.lookTag(full)
			tags = append(tags, Tag{Name: name, Commit: found.commit.String()})
		}
	}
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	return tags, mirror.key, nil
}
