// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// counter answers with the number of its calls; gate, if set, delays each answer.
type counter struct {
	mu   sync.Mutex
	n    int
	gate chan struct{}
	err  error
}

func (c *counter) ask(ctx context.Context, _ *int) (int, error) {
	c.mu.Lock()
	c.n++
	n := c.n
	c.mu.Unlock()
	if c.gate != nil {
		select {
		case <-c.gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return n, c.err
}

var patient = Options{MaxAge: time.Hour, Timeout: time.Hour}

func TestLooksAreSharedAndRemembered(t *testing.T) {
	var looks Looks[int]
	upstream := &counter{gate: make(chan struct{})}
	answers := make(chan int)
	for range 100 {
		go func() {
			n, err := looks.Look(t.Context(), "key", patient, upstream.ask)
			if err != nil {
				t.Error(err)
			}
			answers <- n
		}()
	}
	close(upstream.gate)
	for range 100 {
		if n := <-answers; n != 1 {
			t.Errorf("answer %d", n)
		}
	}
	if n, err := looks.Look(t.Context(), "another key", patient, upstream.ask); n != 2 || err != nil {
		t.Errorf("another key got answer %d, %v", n, err)
	}
	if n, err := looks.Look(t.Context(), "key", Options{Timeout: time.Hour}, upstream.ask); n != 3 || err != nil {
		t.Errorf("an expired answer was reused: %d, %v", n, err)
	}
}

func TestAFreshLookBeginsAfterAsking(t *testing.T) {
	var looks Looks[int]
	upstream := &counter{gate: make(chan struct{})}
	old := make(chan int)
	go func() {
		n, _ := looks.Look(t.Context(), "key", patient, upstream.ask)
		old <- n
	}()
	waitFor(t, func() bool { upstream.mu.Lock(); defer upstream.mu.Unlock(); return upstream.n == 1 })
	fresh := make(chan int)
	o := patient
	o.Fresh = true
	for range 10 {
		go func() {
			n, _ := looks.Look(t.Context(), "key", o, upstream.ask)
			fresh <- n
		}()
	}
	waitFor(t, func() bool { looks.mu.Lock(); defer looks.mu.Unlock(); return looks.entries["key"].next != nil })
	close(upstream.gate)
	if n := <-old; n != 1 {
		t.Errorf("the first caller got answer %d", n)
	}
	for range 10 {
		if n := <-fresh; n < 2 {
			t.Errorf("a fresh look got answer %d", n)
		}
	}
}

func TestFailuresAndPanicsAreNotRemembered(t *testing.T) {
	var looks Looks[int]
	broken := &counter{err: errors.New("broken")}
	if _, err := looks.Look(t.Context(), "key", patient, broken.ask); !errors.Is(err, broken.err) {
		t.Error(err)
	}
	_, err := looks.Look(t.Context(), "key", patient, func(context.Context, *int) (int, error) { panic("hostile") })
	if err == nil || !strings.Contains(err.Error(), "hostile") {
		t.Error(err)
	}
	if n, err := looks.Look(t.Context(), "key", patient, (&counter{}).ask); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestACallerThatGivesUpDoesNotEndALook(t *testing.T) {
	var looks Looks[int]
	upstream := &counter{gate: make(chan struct{})}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := looks.Look(ctx, "key", patient, upstream.ask); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	answer := make(chan int)
	go func() {
		n, _ := looks.Look(t.Context(), "key", patient, upstream.ask)
		answer <- n
	}()
	close(upstream.gate)
	if n := <-answer; n != 1 {
		t.Errorf("answer %d", n)
	}
}

func TestAnUpstreamThatHangsEndsWithTheTimeout(t *testing.T) {
	var looks Looks[int]
	upstream := &counter{gate: make(chan struct{})}
	if _, err := looks.Look(t.Context(), "key", Options{Timeout: time.Millisecond}, upstream.ask); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestTheOldestAnswersAreForgotten(t *testing.T) {
	looks := Looks[int]{Capacity: 3}
	upstream := &counter{}
	for i := range 10 {
		if _, err := looks.Look(t.Context(), fmt.Sprint(i), patient, upstream.ask); err != nil {
			t.Fatal(err)
		}
	}
	if len(looks.entries) != 3 {
		t.Errorf("%d answers are remembered", len(looks.entries))
	}
	if n, err := looks.Look(t.Context(), "9", patient, upstream.ask); n != 10 || err != nil {
		t.Errorf("the latest answer was forgotten: %d, %v", n, err)
	}
}

func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true in a minute")
		}
	}
}

func TestAnswersAreForgotten(t *testing.T) {
	var looks Looks[int]
	upstream := &counter{}
	for want := range 2 {
		if n, err := looks.Look(t.Context(), "key", patient, upstream.ask); n != want+1 || err != nil {
			t.Errorf("answer %d, %v", n, err)
		}
		looks.Forget("key")
		looks.Forget("unknown")
	}
	worthless := Looks[int]{Worth: func(n int) bool { return n > 1 }}
	upstream = &counter{}
	for _, want := range []int{1, 2, 2} {
		if n, err := worthless.Look(t.Context(), "key", patient, upstream.ask); n != want || err != nil {
			t.Errorf("answer %d, want %d: %v", n, want, err)
		}
	}
}
