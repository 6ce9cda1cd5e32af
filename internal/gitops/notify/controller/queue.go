// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
)

const (
	// maxWaiting and maxWaitingBytes limit a queue, which drops its oldest deliveries.
	maxWaiting      = 200
	maxWaitingBytes = 1 << 20
	// longestPause is the longest delay between attempts, unless the service asks for more. maxAge
	// is how long a delivery is attempted.
	longestPause = 5 * time.Minute
	maxAge       = 24 * time.Hour
)

// delivery is one message for one provider.
type delivery struct {
	Provider types.NamespacedName `json:"provider"`
	Alert    types.NamespacedName `json:"alert"`
	At       time.Time            `json:"at"`
	Message  send.Message         `json:"message"`

	// file is the delivery's file; empty if it is not stored.
	file string
}

// size estimates the memory of a delivery.
func (d *delivery) size() int {
	n := 500 + len(d.Message.Event.Message)
	for name, value := range d.Message.Event.Metadata {
		n += len(name) + len(value)
	}
	return n
}

// queue contains the deliveries of a provider, which are sent in order.
type queue struct {
	d        *Dispatcher
	provider types.NamespacedName

	mu      sync.Mutex
	waiting []*delivery
	bytes   int
	working bool
	// since is the start of the outage; zero if there is none. lost counts dropped deliveries.
	since time.Time
	lost  int
}

// add appends a delivery, and starts a worker if none is running.
func (q *queue) add(ctx context.Context, one *delivery) {
	q.mu.Lock()
	q.waiting, q.bytes = append(q.waiting, one), q.bytes+one.size()
	// An attempt of the first one may be running.
	for len(q.waiting) > 2 && (len(q.waiting) > maxWaiting || q.bytes > maxWaitingBytes) {
		gone := q.waiting[1]
		q.waiting = append(q.waiting[:1], q.waiting[2:]...)
		q.bytes -= gone.size()
		q.lost++
		q.d.forget(gone)
	}
	outage := !q.since.IsZero()
	begin := !q.working
	q.working = true
	q.mu.Unlock()
	if outage {
		q.keep()
	}
	if begin && !q.d.queues.begin(func() { q.work(ctx) }) {
		q.mu.Lock()
		q.working = false
		q.mu.Unlock()
	}
}

// first returns the next delivery. Without one, the worker ends.
func (q *queue) first() *delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.working = false
		return nil
	}
	return q.waiting[0]
}

// done removes the first delivery.
func (q *queue) done(one *delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.bytes = q.waiting[1:], q.bytes-one.size()
	q.d.forget(one)
}

// keep stores all waiting deliveries.
func (q *queue) keep() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.waiting {
		q.d.store(one)
	}
}

// work sends until the queue is empty or ctx ends.
func (q *queue) work(ctx context.Context) {
	pause := q.d.Pause
	for ctx.Err() == nil {
		one := q.first()
		if one == nil {
			return
		}
		err := q.attempt(ctx, one)
		if ctx.Err() != nil {
			return
		}
		var wrong *send.Error
		switch {
		case err == nil:
			q.done(one)
			q.recovered()
			pause = q.d.Pause
		case errors.Is(err, errNobody):
			q.done(one)
		case errors.As(err, &wrong) && !wrong.Again:
			q.done(one)
			q.d.refused(one, wrong)
		case time.Since(one.At) > maxAge:
			q.done(one)
			q.d.refused(one, fmt.Errorf("%w. It was given up after %s", err, maxAge))
		default:
			q.failed(one, err)
			q.keep()
			after := jitter(pause)
			if wrong != nil {
				after = max(after, wrong.After)
			}
			pause = min(2*pause, longestPause)
			if !sleep(ctx, after) {
				return
			}
		}
	}
}

// attempt makes one attempt, of a limited number.
func (q *queue) attempt(ctx context.Context, one *delivery) error {
	target, err := q.d.target(ctx, one)
	if err != nil {
		return err
	}
	select {
	case q.d.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.d.sending }()
	return send.Send(ctx, target, one.Message)
}

// failed begins an outage, or continues one.
func (q *queue) failed(one *delivery, err error) {
	q.mu.Lock()
	begins := q.since.IsZero()
	if begins {
		q.since = time.Now()
	}
	q.mu.Unlock()
	if begins {
		q.d.outage(one, err)
	}
}

// recovered ends an outage.
func (q *queue) recovered() {
	q.mu.Lock()
	since, lost := q.since, q.lost
	q.since, q.lost = time.Time{}, 0
	q.mu.Unlock()
	if !since.IsZero() {
		q.d.recovered(q.provider, time.Since(since), lost)
	}
}

// jitter spreads attempts of providers on one host.
func jitter(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // not a secret
}

func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
