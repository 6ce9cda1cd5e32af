// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

var finished = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func TestALookIsWrittenDownForTheStackItWasOf(t *testing.T) {
	var book Book
	a, b := run.Stack{Name: "a"}, run.Stack{Name: "b"}
	open := make(chan struct{})
	now := func() time.Time { return finished }
	book.Begin(t.Context(), a, Entry{Key: "k"}, now, func(context.Context) error { <-open; return errors.New("boom") })
	began, stopped := make(chan struct{}), make(chan struct{})
	book.Begin(t.Context(), b, Entry{Key: "k"}, now, func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	})
	<-began
	if e, ok := book.Last(a); !ok || !e.Running {
		t.Errorf("%+v %v", e, ok)
	}
	book.Forget(b)
	<-stopped // nothing waits for it
	close(open)
	if seen := <-book.Ended(); seen != a {
		t.Errorf("reported %v", seen)
	}
	if e, _ := book.Last(a); e != (Entry{Key: "k", At: finished, Failure: "boom"}) {
		t.Errorf("%+v", e)
	}
	if e, ok := book.Last(b); ok {
		t.Errorf("a stack that is forgotten has %+v", e)
	}
}

func TestWhoHasManyStacksThatDoNotAnswerKeepsNobodyElseWaiting(t *testing.T) {
	var book Book
	now := func() time.Time { return finished }
	never := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for i := range 2 * places {
		book.Begin(t.Context(), run.Stack{Namespace: "many", Name: strconv.Itoa(i)}, Entry{}, now, never)
	}
	other := run.Stack{Namespace: "other", Name: "a"}
	book.Begin(t.Context(), other, Entry{}, now, func(context.Context) error { return nil })
	if seen := <-book.Ended(); seen != other {
		t.Errorf("reported %v", seen)
	}
	for i := range 2 * places { // waiting ones are ended, too
		book.Forget(run.Stack{Namespace: "many", Name: strconv.Itoa(i)})
	}
}
