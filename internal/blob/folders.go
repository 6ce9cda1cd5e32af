// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
)

// Folders yields the folders directly below a prefix. Prefix and folders end in a slash: with the
// keys a/b/c and a/d, the folder of "a/" is "a/b/". It lists only that level.
func (s *Store) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := validatePrefix(prefix); err != nil || !strings.HasSuffix(prefix, "/") {
			yield("", fmt.Errorf("list the folders below %q: expected a prefix that ends in a slash", prefix))
			return
		}
		for folder, err := range s.bucket.folders(ctx, prefix) {
			if err != nil {
				yield("", fmt.Errorf("list the folders below %s: %w", prefix, err))
				return
			}
			if !hidden(folder) && !yield(folder, nil) {
				return
			}
		}
	}
}

func (d *directory) folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if ctx.Err() != nil {
			yield("", context.Cause(ctx))
			return
		}
		entries, err := fs.ReadDir(d.root.FS(), strings.TrimSuffix(prefix, "/"))
		if missing(err) {
			return
		}
		if err != nil {
			yield("", err)
			return
		}
		for _, entry := range entries {
			if entry.IsDir() && !yield(path.Join(prefix, entry.Name())+"/", nil) {
				return
			}
		}
	}
}
