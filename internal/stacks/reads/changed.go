// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Changed lists the relevant files that differ, and the number of others; or why it cannot.
func (s *Sources) Changed(ctx context.Context, was, is string, counts func(name string) bool) (list []run.FileChange, more int, problem string) {
	old, errOld := s.tree(ctx, was)
	present, errNow := s.tree(ctx, is)
	switch {
	case errOld != nil || errNow != nil:
		return nil, 0, "the archive of one revision is gone."
	case old.index == nil || present.index == nil:
		return nil, 0, old.why + present.why
	}
	list, more = changedIn(old.index, present.index, counts)
	return list, more, ""
}

// maxChangedFiles is the maximum number of listed files of a source.
const maxChangedFiles = 20

// changedIn compares the relevant files of two archives.
func changedIn(was, is *archive.Index, counts func(name string) bool) (list []run.FileChange, more int) {
	add := func(name, change string, dir bool) {
		switch {
		case dir || !counts(name):
		case len(list) == maxChangedFiles:
			more++
		default:
			list = append(list, run.FileChange{Name: name, Change: change})
		}
	}
	a, b := was.Files, is.Files
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			add(a[0].Name, "removed", a[0].Dir)
			a = a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			add(b[0].Name, "added", b[0].Dir)
			b = b[1:]
		default:
			if x, y := a[0], b[0]; x.Sum != y.Sum || x.Link != y.Link || x.Executable != y.Executable || x.Dir != y.Dir {
				add(x.Name, "changed", false)
			}
			a, b = a[1:], b[1:]
		}
	}
	return list, more
}
