// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxTreeFiles and maxTreeKept bound the index of an archive; a larger one counts as a whole. A
	// source of a thousand root modules has some ten thousand files and some MiB of configuration.
	maxTreeFiles = 50_000
	maxTreeKept  = 16 << 20
	// maxTrees bounds the kept indexes. What was found for each stack is kept with its module.
	maxTrees = 32 << 20
)

// trees are the indexes of the latest archives. Each known one is once in order, the oldest first.
type trees struct {
	mu    sync.Mutex
	known map[string]*sharedTree
	order []string
	kept  int
}

// sharedTree is read by the first caller; the others wait.
type sharedTree struct {
	once sync.Once
	tree *tree
	err  error
	size int
}

// tree reads the index of an archive once for all concurrent callers.
func (s *Sources) tree(ctx context.Context, digest string) (*tree, error) {
	s.trees.mu.Lock()
	shared := s.trees.known[digest]
	if shared == nil {
		shared = &sharedTree{}
		if s.trees.known == nil {
			s.trees.known = map[string]*sharedTree{}
		}
		s.trees.known[digest] = shared
		s.trees.order = append(s.trees.order, digest)
	}
	s.trees.mu.Unlock()
	shared.once.Do(func() {
		// Others wait for the answer, so the first caller's cancellation must not end it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FetchTimeout)
		defer cancel()
		// A panic must not leave an empty answer for later callers.
		shared.err = fmt.Errorf("index the source archive %s: it ended in a panic. This is a bug in Yuba", digest)
		defer s.trees.settle(digest, shared)
		shared.tree, shared.err = s.readTree(ctx, digest)
	})
	return shared.tree, shared.err
}

// settle drops the oldest indexes, and one that could not be read.
func (t *trees) settle(digest string, shared *sharedTree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.order, digest)
	if at < 0 || t.known[digest] != shared {
		return // others replaced it meanwhile; waiting callers have it
	}
	if shared.err != nil {
		t.drop(at)
		return
	}
	if shared.tree.index != nil {
		shared.size = shared.tree.index.Size()
		t.kept += shared.size
	}
	for len(t.order) > 1 && (t.kept > maxTrees || len(t.order) > maxModules) {
		oldest := 0
		if t.order[oldest] == digest { // the others go first: it is in use
			oldest = 1
		}
		t.drop(oldest)
	}
}

// drop forgets an archive. The lock is held.
func (t *trees) drop(at int) {
	digest := t.order[at]
	t.order = slices.Delete(t.order, at, at+1)
	t.kept -= t.known[digest].size
	delete(t.known, digest)
}

func (s *Sources) readTree(ctx context.Context, digest string) (*tree, error) {
	packed, err := s.Store.OpenArtifact(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read the source archive %s: %w", digest, err)
	}
	defer packed.Close() //nolint:errcheck // read only
	x, err := archive.ReadIndex(ctx, packed, archive.Limits{MaxPacked: s.MaxArchive}, digest, archive.IndexOptions{
		MaxFiles: maxTreeFiles, MaxKept: maxTreeKept, Mark: mark, Opaque: markOpaque,
		Keep: func(name string) bool {
			return module.IsConfigFile(name) || isVarFile(name) || strings.HasSuffix(name, templateName) || path.Base(name) == lockFileName
		},
	})
	switch {
	case archive.IsLimit(err):
		return &tree{why: "the source is too large to analyze: " + err.Error()}, nil
	case err != nil:
		return nil, unreadable(digest, err)
	}
	return newTree(x), nil
}

func unreadable(digest string, err error) error {
	return &SourceError{Message: fmt.Sprintf("the source archive %s cannot be read: %s", digest, err)}
}

// selectFiles reads files from the index, or from the archive if that is too large for one.
func (s *Sources) selectFiles(ctx context.Context, t *tree, key moduleKey, keep func(name string) bool) (files map[string][]byte, err error) {
	if t.index != nil {
		dir := "."
		if key.varFiles == "" && key.dir != "" {
			dir = key.dir
		}
		files, err = t.index.Select(dir, maxModuleBytes, keep)
	} else {
		packed, failed := s.Store.OpenArtifact(ctx, key.digest)
		if failed != nil {
			return nil, fmt.Errorf("read the source archive %s: %w", key.digest, failed)
		}
		defer packed.Close() //nolint:errcheck // read only
		files, err = archive.Files(ctx, packed, archive.Limits{MaxPacked: s.MaxArchive}, key.digest, maxModuleBytes, keep)
	}
	if err != nil {
		return nil, unreadable(key.digest, err)
	}
	return files, nil
}

// varFilesIn are the files of values that a key names.
func varFilesIn(key moduleKey) []string {
	if key.varFiles == "" {
		return nil
	}
	return strings.Split(key.varFiles, "\n")
}
