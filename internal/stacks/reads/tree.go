// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxTreeFiles and maxTreeKept bound what is looked into of one archive; one with more counts as a whole. A source of
	// a thousand root modules has some ten thousand files, and some MiB of configuration.
	maxTreeFiles = 50_000
	maxTreeKept  = 16 << 20
	// maxTrees bounds what is kept of archives that were looked into. The stacks of one source are looked at together;
	// what was found for each is kept with its module.
	maxTrees = 32 << 20
)

// trees are archives that were looked into, the latest ones. Each of those known stands in order once, the oldest first.
type trees struct {
	mu    sync.Mutex
	known map[string]*sharedTree
	order []string
	kept  int
}

// sharedTree is read once by whoever asks first.
type sharedTree struct {
	once sync.Once
	tree *tree
	err  error
	size int
}

// tree looks into an archive once, however many ask at the same time.
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
		// Others wait for the answer: it is not given up with whoever asked first, but some time it is.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FetchTimeout)
		defer cancel()
		// A panic must not leave an empty answer for everybody who comes later.
		shared.err = fmt.Errorf("look into the source archive %s: it ended in a panic. This is a bug in Yuba", digest)
		defer s.trees.settle(digest, shared)
		shared.tree, shared.err = s.readTree(ctx, digest)
	})
	return shared.tree, shared.err
}

// settle keeps what was read within bounds. What could not be read is read anew the next time.
func (t *trees) settle(digest string, shared *sharedTree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.order, digest)
	if at < 0 || t.known[digest] != shared {
		return // others have taken its place meanwhile; who waits for it has it
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

// drop forgets an archive by its place. The lock is held.
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
			return module.IsConfigFile(name) || isVarFile(name) || strings.HasSuffix(name, templateName)
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

// selectFiles reads files of an archive: from what is known of it, or, when that is too much, from the archive itself.
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
