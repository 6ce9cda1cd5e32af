// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// upstreamFunc stands in for an upstream that does what no real one can be made to do.
type upstreamFunc func(ctx context.Context, o *sourcev1.GitRepository, fresh bool) (*Found, error)

func (f upstreamFunc) Look(ctx context.Context, o *sourcev1.GitRepository, fresh bool) (*Found, error) {
	return f(ctx, o, fresh)
}

// fetches is an upstream that always has these files; "-> target" is a link.
func fetches(files map[string]string) upstreamFunc {
	return func(context.Context, *sourcev1.GitRepository, bool) (*Found, error) {
		return &Found{Revision: "main@sha1:1", Fetch: func(_ context.Context, dir string) error { return place(dir, files) }}, nil
	}
}

func place(dir string, files map[string]string) error {
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			return err
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, full); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
