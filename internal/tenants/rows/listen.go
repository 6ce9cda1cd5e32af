// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

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

// The pauses before a listener connects again double, up to the longest. A server that does not answer may be back in a moment, and with
// long intervals only the listener would notice. A server that refuses LISTEN stays as it is until somebody changes it.
const (
	shortestPause      = time.Second
	longestUnreachable = 15 * time.Second
	longestPause       = 2 * time.Minute
)

// pauseAfter is the pause after a failure, by the one before; zero when the listener was connected since.
func pauseAfter(failure Class, before time.Duration) time.Duration {
	longest := longestPause
	if failure == Unreachable {
		longest = longestUnreachable
	}
	return min(max(2*before, shortestPause), longest)
}

// quietTime is how long a connection may be silent until the server is asked whether it is still there: nobody tells when a firewall
// has forgotten a connection, and load balancers cut those that are silent for a minute, or less.
const quietTime = 20 * time.Second

// listener waits for what NOTIFY says in a channel of PostgreSQL.
type listener struct {
	config  *pgx.ConnConfig
	channel string
	wire    *meter
	// explain is the table's; deaf is told why nobody listens.
	explain func(error) *Error
	deaf    *atomic.Pointer[string]
	// quiet is quietTime. Since is when the listener began to be without a connection; zero when it has one, or has tried none.
	quiet time.Duration
	since time.Time
}

// listenedTo is what may come over one connection: more than a million notifications. The driver keeps some of what a server
// says for as long as the connection lasts.
const listenedTo = 64 << 20

// watch listens until the context ends. A connection that is lost, and not replaced at once, is a signal, so that a reading shows it and
// finds what nobody is told of until there is another one; that one is a signal, too.
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
		// A server that comes back is not met by all registries at once.
		if !pause(ctx, next/2+rand.N(next)) {
			return
		}
	}
}

// listen listens over one connection until it ends. It tells whether it was able to, and why it ended.
func (l *listener) listen(ctx context.Context, changed chan<- struct{}) (able bool, failure *Error) {
	defer func() {
		// What a server, or whoever says to be one, makes the driver stumble over must not end this one.
		if stumbled := recover(); stumbled != nil {
			failure = &Error{Class: Failed, Why: "the driver cannot cope with what the server says"}
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
		// The outer context is over, as a rule.
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bye) //nolint:errcheck // it is over either way
	}()
	if _, err := conn.Exec(soon, `LISTEN "`+strings.ReplaceAll(l.channel, `"`, `""`)+`"`); err != nil {
		return false, l.explain(err)
	}
	l.since = time.Time{}
	l.deaf.Store(nil)
	// Notifications before this connection listened are lost.
	signal(changed)
	for {
		if err := l.wait(ctx, conn); err != nil {
			return true, l.explain(err)
		}
		signal(changed)
	}
}

// wait returns when there is a notification, or an error.
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

// lost takes note of why nobody listens, and since when. One that was able to listen has another try first: most connections that
// are cut are back in a second. It says whether the loss of a connection is news.
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
