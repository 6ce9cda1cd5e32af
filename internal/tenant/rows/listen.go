// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// The pauses before a listener connects again, which double.
const (
	shortestPause = time.Second
	longestPause  = 2 * time.Minute
)

// listener waits for what NOTIFY says in a channel of PostgreSQL.
type listener struct {
	config  *pgx.ConnConfig
	channel string
	wire    *meter
	// explain is the table's; deaf is told why nobody listens.
	explain func(error) *Error
	deaf    *atomic.Pointer[string]
}

// listenedTo is what may come over one connection: more than a million notifications. The driver keeps some of what a server
// says for as long as the connection lasts.
const listenedTo = 64 << 20

// watch listens until the context ends. Why a connection ended is not told: readings tell the same about the same server. That
// it does not let anybody listen is another matter.
func (l *listener) watch(ctx context.Context, changed chan<- struct{}) {
	for next := shortestPause; ; next = min(2*next, longestPause) {
		if l.listen(ctx, changed) {
			next = shortestPause
		}
		// A server that comes back is not met by all registries at once.
		if !pause(ctx, next/2+rand.N(next)) {
			return
		}
	}
}

// listen listens over one connection until it ends; it tells whether it was able to.
func (l *listener) listen(ctx context.Context, changed chan<- struct{}) (able bool) {
	defer func() {
		// What a server, or whoever says to be one, makes the driver stumble over must not end this one.
		if stumbled := recover(); stumbled != nil {
			able = l.failed("the driver cannot cope with what the server says")
		}
	}()
	l.wire.left.Store(listenedTo)
	soon, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(soon, l.config)
	if err != nil {
		return l.failed(l.explain(err).Why)
	}
	defer func() {
		// The outer context is over, as a rule.
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bye) //nolint:errcheck // it is over either way
	}()
	if _, err := conn.Exec(soon, `LISTEN "`+strings.ReplaceAll(l.channel, `"`, `""`)+`"`); err != nil {
		return l.failed(l.explain(err).Why)
	}
	l.deaf.Store(nil)
	// What was said before this connection listened, nobody heard.
	signal(changed)
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true
		}
		signal(changed)
	}
}

// failed takes note of why nobody listens.
func (l *listener) failed(why string) bool {
	why = "channel " + quoted(l.channel) + " is not listened to: " + why
	l.deaf.Store(&why)
	return false
}
