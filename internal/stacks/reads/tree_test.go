// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/yuba-dev/yuba/internal/archive"
)

// ofSize is an index of about this size.
func ofSize(bytes int) *sharedTree {
	return &sharedTree{tree: &tree{index: &archive.Index{Kept: map[string][]byte{"x": make([]byte, bytes)}}}}
}

// asked is what Sources.tree does before it reads an unknown archive.
func (t *trees) asked(digest string, shared *sharedTree) *sharedTree {
	if t.known == nil {
		t.known = map[string]*sharedTree{}
	}
	t.known[digest], t.order = shared, append(t.order, digest)
	return shared
}

func TestArchivesThatWereLookedIntoAreKeptWithinBounds(t *testing.T) {
	var s trees
	consistent := func(sentence string, want ...string) {
		t.Helper()
		kept := 0
		for _, digest := range s.order {
			if s.known[digest] == nil {
				t.Errorf("%s: %s has a place and is not known", sentence, digest)
				continue
			}
			kept += s.known[digest].size
		}
		if !slices.Equal(s.order, want) || len(s.known) != len(want) || kept != s.kept {
			t.Errorf("%s: %v are left, %d known, %d bytes counted as %d; want %v", sentence, s.order, len(s.known), kept, s.kept, want)
		}
	}
	gone := &sharedTree{err: errors.New("the archive is gone")}
	for range 3 { // as often as requested
		s.settle("gone", s.asked("gone", gone))
	}
	consistent("what cannot be read")

	large := maxTrees * 2 / 3
	slow, a, b := s.asked("slow", ofSize(large)), s.asked("a", ofSize(large)), s.asked("b", ofSize(large))
	s.settle("a", a)
	s.settle("b", b)
	consistent("the oldest go, be they at work still", "b")
	s.settle("slow", slow)
	consistent("what lost its place is not counted", "b")

	s.settle("gone", s.asked("gone", ofSize(2*maxTrees)))
	consistent("one that is too large alone", "gone")
	s.settle("small", s.asked("small", ofSize(10)))
	consistent("the next one", "small")
}

// silent is a store that never responds.
type silent struct{ ArtifactStore }

func (silent) OpenArtifact(ctx context.Context, _ string) (io.ReadCloser, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAStoreThatNeverAnswersKeepsNobodyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sources{Store: silent{}}
		if _, err := s.tree(t.Context(), "sha256:x"); !errors.Is(err, context.DeadlineExceeded) || len(s.trees.order) > 0 {
			t.Errorf("%v, %v", err, s.trees.order)
		}
	})
}

// panicking is a store that panics.
type panicking struct{ ArtifactStore }

func (panicking) OpenArtifact(context.Context, string) (io.ReadCloser, error) { panic("a bug") }

func TestAPanicWhileAnArchiveIsLookedIntoLeavesNoEmptyAnswer(t *testing.T) {
	s := &Sources{Store: panicking{}}
	for range 2 { // later callers meet the same, not an empty answer
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is hidden")
				}
			}()
			found, err := s.tree(t.Context(), "sha256:x")
			t.Errorf("an answer: %v, %v", found, err)
		}()
	}
	if len(s.trees.order) > 0 || len(s.trees.known) > 0 {
		t.Errorf("kept: %v", s.trees.order)
	}
}
