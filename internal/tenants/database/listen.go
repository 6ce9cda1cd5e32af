// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// The pauses before a listener reconnects double, up to a maximum. A server that is unavailable may
// be back soon, and with long intervals only the listener would notice. A server that refuses
// LISTEN does so until somebody changes it.
const (
	shortestPause      = time.Second
	longestUnreachable = 15 * time.Second
	longestPause       = 2 * time.Minute
)

// pauseAfter returns the pause after a failure, given the previous one; that is zero if the
// listener was connected since.
func pauseAfter(failure Class, before time.Duration) time.Duration {
	longest := longestPause
	if failure == Unreachable {
		longest = longestUnreachable
	}
	return min(max(2*before, shortestPause), longest)
}

// quietTime is how long a connection may be silent before it is checked: firewalls forget
// connections silently, and load balancers cut those that are silent for a minute or less.
const quietTime = 20 * time.Second

// listener waits for NOTIFY in a PostgreSQL channel.
type listener struct {
	config  *pgx.ConnConfig
	channel string
	wire    *meter
	// explain is the table's; deaf receives the reason why there is no listener.
	explain func(error) *Error
	deaf    *atomic.Pointer[string]
	// quiet is quietTime. since is when the listener lost its connection; zero if it has one, or
	// has not tried.
	quiet time.Duration
	since time.Time
}

// listenedTo limits what one connection may receive: more than a million notifications. The driver
// keeps some server messages for the life of a connection.
const listenedTo = 64 << 20

// watch listens until the context ends. Losing a connection that is not replaced at once is a
// signal, so that a reading reports it and finds unannounced changes; a new connection is a signal,
// too.
func (l *listener) watch(ctx context.Context, changed chan<- struct{}) {
	for next := time.Duration(0); ; {
		able, failure := l.listen(ctx, changed)
		if ctx.Err() != nil {
			return
		}
		if l.lost(able, failure.Why) {
			signal(changed)
		}
		if able {
			next = 0
		}
		next = pauseAfter(failure.Class, next)
		// Jitter, so that not all registries connect to a restarted server at once.
		if !pause(ctx, next/2+rand.N(next)) {
			return
		}
	}
}

// listen listens on one connection until it ends. It returns whether it could, and why it ended.
func (l *listener) listen(ctx context.Context, changed chan<- struct{}) (able bool, failure *Error) {
	defer func() {
		// Data from a malicious server that makes the driver panic must not crash this process.
		if stumbled := recover(); stumbled != nil {
			failure = &Error{Class: Failed, Why: "the driver failed on the server's response"}
		}
	}()
	l.wire.left.Store(listenedTo)
	soon, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(soon, l.config)
	if err != nil {
		return false, l.explain(err)
	}
	defer func() {
		// The outer context has usually ended.
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bye) //nolint:errcheck // it is over either way
	}()
	if _, err := conn.Exec(soon, `LISTEN "`+strings.ReplaceAll(l.channel, `"`, `""`)+`"`); err != nil {
		return false, l.explain(err)
	}
	l.since = time.Time{}
	l.deaf.Store(nil)
	// Earlier notifications were lost.
	signal(changed)
	for {
		if err := l.wait(ctx, conn); err != nil {
			return true, l.explain(err)
		}
		signal(changed)
	}
}

// wait returns at a notification or an error.
func (l *listener) wait(ctx context.Context, conn *pgx.Conn) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, l.quiet)
		_, err := conn.WaitForNotification(quiet)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || conn.IsClosed() {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, connectTimeout)
		err = conn.Ping(soon)
		cancel()
		if err != nil {
			return err
		}
	}
}

// lost records why there is no listener, and since when. After a working connection it retries
// first: most are back in a second. It reports whether the loss is news.
func (l *listener) lost(able bool, why string) (news bool) {
	if able {
		l.since = time.Now()
		return false
	}
	news = !l.since.IsZero() && l.deaf.Load() == nil
	if l.since.IsZero() {
		l.since = time.Now()
	}
	why = fmt.Sprintf("LISTEN on channel %s has failed since %s: %s", quoted(l.channel), l.since.UTC().Format(time.RFC3339), why)
	l.deaf.Store(&why)
	return news
}
