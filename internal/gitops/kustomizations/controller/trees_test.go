// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestATreeIsUnpackedOnceForAllAndRemovedWhenNobodyComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s trees
		var unpacked, removed atomic.Int32
		unpack := func(context.Context) (string, func(), error) {
			unpacked.Add(1)
			return "tree", func() { removed.Add(1) }, nil
		}
		use := func() {
			path, done, err := s.take(t.Context(), "sha256:a", unpack)
			if err != nil || path != "tree" {
				t.Errorf("took %q, %v", path, err)
				return
			}
			done()
		}
		var users sync.WaitGroup
		for range 50 {
			users.Go(use)
		}
		users.Wait()
		time.Sleep(idleTree / 2)
		use()
		time.Sleep(idleTree / 2)
		if unpacked.Load() != 1 || removed.Load() != 0 {
			t.Fatalf("unpacked %d times and removed %d times, want once and not yet", unpacked.Load(), removed.Load())
		}
		time.Sleep(idleTree)
		if removed.Load() != 1 || len(s.have) != 0 {
			t.Fatalf("removed %d times, %d are known; want it gone", removed.Load(), len(s.have))
		}
		use()
		if unpacked.Load() != 2 {
			t.Errorf("unpacked %d times, want it made anew", unpacked.Load())
		}
		time.Sleep(2 * idleTree)
	})
}

func TestWhatCannotBeUnpackedIsTriedAgain(t *testing.T) {
	broken := errors.New("not a valid archive")
	var s trees
	for range 2 {
		tried := false
		_, _, err := s.take(t.Context(), "sha256:a", func(context.Context) (string, func(), error) {
			tried = true
			return "", nil, broken
		})
		if !errors.Is(err, broken) || !tried {
			t.Errorf("got %v, tried %v", err, tried)
		}
	}
	if len(s.have) != 0 {
		t.Error("a tree that is none is kept")
	}
}

func TestWhoGivesUpDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s trees
		impatient, giveUp := context.WithCancel(t.Context())
		go func() {
			_, _, err := s.take(impatient, "sha256:a", func(ctx context.Context) (string, func(), error) {
				<-ctx.Done()
				return "", nil, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller got %v", err)
			}
		}()
		synctest.Wait()
		type answer struct {
			path string
			err  error
		}
		got := make(chan answer)
		go func() {
			path, done, err := s.take(t.Context(), "sha256:a", func(context.Context) (string, func(), error) { return "tree", func() {}, nil })
			if err == nil {
				done()
			}
			got <- answer{path, err}
		}()
		synctest.Wait()
		giveUp()
		if a := <-got; a.path != "tree" || a.err != nil {
			t.Errorf("the waiting caller got %q, %v", a.path, a.err)
		}
		time.Sleep(2 * idleTree)
	})
}
