// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A thousand changes cause a few signals, and the last change is always followed by one.
func TestSignalsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		all := make(chan struct{})
		told := l.watch(t.Context(), func(ctx context.Context, changed chan<- struct{}) {
			for range 1000 {
				signal(changed)
			}
			close(all)
			<-ctx.Done()
		})
		<-all
		<-told
		signals := 1
		for quiet := false; !quiet; {
			select {
			case <-told:
				signals++
			case <-time.After(3 * leastPause):
				quiet = true
			}
		}
		// One signal at once and one for the rest; a few more on a slow machine.
		if signals > 10 {
			t.Errorf("%d signals for changes at one moment", signals)
		}
		l.end()
		if _, open := <-told; open {
			t.Error("the channel outlives its source")
		}
		if _, open := <-l.watch(t.Context(), func(ctx context.Context, _ chan<- struct{}) { <-ctx.Done() }); open {
			t.Error("after the end, a new channel is open")
		}
	})
}

func TestChannelsEndWithTheirContext(t *testing.T) {
	l := newLife()
	ctx, cancel := context.WithCancel(t.Context())
	told := l.watch(ctx, func(ctx context.Context, _ chan<- struct{}) { <-ctx.Done() })
	cancel()
	if _, open := <-told; open {
		t.Error("a signal without a cause")
	}
	l.end()
}
