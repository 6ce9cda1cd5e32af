// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// collectInterval is how often the runner looks for providers that nobody uses any more.
const collectInterval = time.Hour

// tidyProviders removes what an earlier runner left half done in the store, and from time to time what is not used.
func (q *equipment) tidyProviders(ctx context.Context) {
	if q.store == nil {
		return
	}
	if err := q.store.Clean(); err != nil {
		q.opts.Log.Warn("downloads of providers that were given up are left", "error", err)
	}
	ticker := time.NewTicker(collectInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			q.collectProviders()
		case <-ctx.Done():
			return
		}
	}
}

func (q *equipment) collectProviders() {
	linked := map[string]bool{}
	for dir := range ProviderLinks(q.opts.WorkRoot) {
		linked[dir] = true
	}
	done, err := q.store.Collect(providers.Limits{Unused: q.opts.ProviderUnused, Bytes: q.opts.ProviderBytes}, linked)
	if err != nil {
		q.opts.Log.Warn("collect providers that nobody uses", "error", err)
	}
	if done.Packages > 0 {
		q.opts.Log.Info("removed providers that nobody uses", "packages", done.Packages, "bytes", done.Bytes)
	}
}

// ProviderLinks counts, by where it leads, the links to providers in the working directories of stacks.
func ProviderLinks(workRoot string) map[string]int {
	links := map[string]int{}
	bases, _ := filetree.Glob(workRoot, "*/*/"+recordName) // the pattern is good
	for _, record := range bases {
		countProviderLinks(links, filepath.Dir(record))
	}
	return links
}

// ProviderLinksOf is ProviderLinks for some stacks only.
func ProviderLinksOf(workRoot string, stacks []run.Stack) map[string]int {
	links := map[string]int{}
	for _, s := range stacks {
		countProviderLinks(links, filepath.Join(workRoot, s.Namespace, s.Name))
	}
	return links
}

func countProviderLinks(links map[string]int, base string) {
	text, err := os.ReadFile(filepath.Join(base, recordName))
	var known workspaceRecord
	if err != nil || json.Unmarshal(text, &known) != nil || known.Module == "" {
		return
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer root.Close() //nolint:errcheck // it was only read
	for _, target := range providerLinks(root, known.Module) {
		links[target]++
	}
}

// maxLinks bounds what is looked at in one working directory, which the tool can write to.
const maxLinks = 10_000

// providerLinks are the targets of the links to providers of one working directory.
func providerLinks(root *os.Root, module string) []string {
	var targets []string
	entries := 0
	top := strings.TrimSuffix(module+"/"+providersTF, "/")
	_ = fs.WalkDir(root.FS(), top, func(name string, entry fs.DirEntry, err error) error { // what cannot be read has no links
		if entries++; err != nil || entries > maxLinks {
			return errors.Join(err, fs.SkipAll)
		}
		depth := strings.Count(strings.TrimPrefix(name, top), "/")
		if entry.Type()&fs.ModeSymlink != 0 && depth == 5 {
			if target, err := root.Readlink(name); err == nil {
				targets = append(targets, target)
			}
		}
		if entry.IsDir() && depth >= 5 {
			return fs.SkipDir
		}
		return nil
	})
	return targets
}

// keepProviders holds the packages of the store that an earlier init has linked to. It reports false when one of them is
// gone: then init has to run again.
func (s *providerStep) keepProviders() bool {
	scope := s.downloads.providerScope()
	for _, target := range providerLinks(s.site.space.root.Root, s.site.space.module) {
		if _, err := os.Stat(target); err != nil {
			return false
		}
		if scope == nil {
			continue
		}
		relative, err := filepath.Rel(scope.Mirror(), target)
		parts := strings.Split(filepath.ToSlash(relative), "/")
		if err != nil || len(parts) != 5 || parts[0] == ".." {
			continue
		}
		a, err := providers.ParseAddress(strings.Join(parts[:3], "/"), "")
		if err != nil {
			continue
		}
		held, err := scope.Hold(a, parts[3])
		if err != nil || held == nil {
			return false
		}
		s.providing.packages = append(s.providing.packages, held)
	}
	return true
}
