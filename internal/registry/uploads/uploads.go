// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package uploads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/limiter"
)

// Limits are those of all uploads together. Zero fields have defaults.
type Limits struct {
	// Places is the number of concurrent uploads; 16. Each is that of one publisher; 4.
	Places, Each int
	// Readings is the number of concurrent readings; 2.
	Readings int
	// Room limits the bytes on disk; 4 GiB.
	Room int64
	// Patience is how long an upload waits for a place; 5 s.
	Patience time.Duration
	// Retry is when a refused client should try again; 10 s.
	Retry time.Duration
}

// Limiter gives places to uploads. It is safe for concurrent use.
type Limiter struct {
	limits              Limits
	places, of, reading *limiter.Limiter

	mu   sync.Mutex
	used int64
}

// BusyError means that other uploads take all places, or all room. Nothing was stored.
type BusyError struct {
	Reason string
	// Retry is when to try again.
	Retry time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the registry is busy with other uploads: %s. Try again in %s", e.Reason, e.Retry)
}

// New returns a limiter.
func New(l Limits) *Limiter {
	l = Limits{Places: cmp.Or(l.Places, 16), Each: cmp.Or(l.Each, 4), Readings: cmp.Or(l.Readings, 2), Room: cmp.Or(l.Room, 4<<30),
		Patience: cmp.Or(l.Patience, 5*time.Second), Retry: cmp.Or(l.Retry, 10*time.Second)}
	return &Limiter{limits: l, places: limiter.New(l.Places), of: limiter.New(l.Each), reading: limiter.New(l.Readings)}
}

var errPatience = errors.New("no place")

// Begin waits a moment for a place of a publisher. The caller must end the upload.
func (l *Limiter) Begin(ctx context.Context, publisher string) (*Upload, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, l.limits.Patience, errPatience)
	defer cancel()
	leaveOwn, err := l.of.Take(waiting, publisher)
	if err != nil {
		return nil, l.busy(err, fmt.Sprintf("%s has %d of them in progress", publisher, l.limits.Each))
	}
	leave, err := l.places.Take(waiting, "")
	if err != nil {
		leaveOwn()
		return nil, l.busy(err, fmt.Sprintf("%d are in progress", l.limits.Places))
	}
	return &Upload{limiter: l, leave: func() { leave(); leaveOwn() }}, nil
}

func (l *Limiter) busy(err error, reason string) error {
	if errors.Is(err, errPatience) {
		return &BusyError{Reason: reason, Retry: l.limits.Retry}
	}
	return err // the client is gone
}

// Reading waits until something may be read. end is called afterwards.
func (l *Limiter) Reading(ctx context.Context) (end func(), err error) {
	return l.reading.Take(ctx, "")
}

// Upload has a place.
type Upload struct {
	limiter *Limiter
	used    int64
	leave   func()
}

// End gives back the place and the room, when nothing of the upload is on disk any more.
func (u *Upload) End() {
	u.limiter.mu.Lock()
	u.limiter.used -= u.used
	u.limiter.mu.Unlock()
	u.leave()
}

// take takes room for n bytes.
func (u *Upload) take(n int) error {
	l := u.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used+int64(n) > l.limits.Room {
		return &BusyError{Reason: fmt.Sprintf("together they have more than %d MiB", l.limits.Room>>20), Retry: l.limits.Retry}
	}
	l.used += int64(n)
	u.used += int64(n)
	return nil
}

// Writer takes room for what is written to w, which is on disk. Without room it fails with a
// [*BusyError].
func (u *Upload) Writer(w io.Writer) io.Writer { return &writer{u, w} }

type writer struct {
	upload *Upload
	to     io.Writer
}

func (w *writer) Write(b []byte) (int, error) {
	if err := w.upload.take(len(b)); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}
