// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"io"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// speak lets a client in, as a PostgreSQL server does, and replies to each of its statements. It
// stays silent when there is no reply.
func speak(conn net.Conn, reply func() pgproto3.BackendMessage) {
	backend, ready := pgproto3.NewBackend(conn, conn), &pgproto3.ReadyForQuery{TxStatus: 'I'}
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(ready)
	for backend.Flush() == nil {
		message, err := backend.Receive()
		if err != nil {
			return
		}
		switch message.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
			if r := reply(); r != nil {
				backend.Send(r)
				backend.Send(ready)
			}
		}
	}
}

// A replica refuses LISTEN, though it can be read. The status must say so.
func TestWhoIsNotListenedToIsTold(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) {
		speak(conn, func() pgproto3.BackendMessage {
			return &pgproto3.ErrorResponse{Severity: "ERROR", Code: "25006", Message: "cannot execute LISTEN during recovery"}
		})
	})
	source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{
		Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants", Channel: "c", TLS: &tenantv1.TLS{Mode: tlsDisable},
	}}, things{}, Options{})
	source.Changes(t.Context())
	want := regexp.MustCompile(`^LISTEN on channel "c" has failed since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: cannot execute LISTEN during recovery$`)
	for deadline := time.Now().Add(time.Minute); !want.MatchString(deafness(source)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("reported as %q", deafness(source))
		}
	}
}

// A driver that panics on a server's data must not crash this process.
func TestAListenerThatStumbles(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	table := &postgresTable{spec: tenantv1.PostgresSource{Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants"}}
	config, err := table.config(&access{})
	if err != nil {
		t.Fatal(err)
	}
	config.BuildFrontend = func(io.Reader, io.Writer) *pgproto3.Frontend { panic("a length below zero") }
	l := &listener{config: config, channel: "c", wire: &meter{}, explain: table.explain, deaf: &atomic.Pointer[string]{}}
	if able, failure := l.listen(t.Context(), make(chan struct{}, 1)); able || failure == nil || !strings.Contains(failure.Why, "the driver failed") {
		t.Errorf("it was able to listen: %t, and ended because of %v", able, failure)
	}
}

// A listener soon reconnects to a server that was down, however long, but not to one that refuses.
func TestHowSoonAListenerConnectsAgain(t *testing.T) {
	for class, want := range map[Class]time.Duration{Unreachable: 15 * time.Second, AccessDenied: 2 * time.Minute, Failed: 2 * time.Minute} {
		next := time.Duration(0)
		for i := range 20 {
			before := next
			if next = pauseAfter(class, next); i == 0 && next != time.Second || next < before || next > want {
				t.Fatalf("%s: pause %d is %s, after %s", class, i, next, before)
			}
		}
		if next != want {
			t.Errorf("%s: in the end the pause is %s, want %s", class, next, want)
		}
		if next := pauseAfter(Unreachable, next); next != 15*time.Second {
			t.Errorf("a server that is away after it was %s is asked again after %s", class, next)
		}
	}
}

// Firewalls drop connections silently: the server stops answering, and the listener must notice.
func TestAConnectionThatFallsSilentIsLost(t *testing.T) {
	silent, tenth := make(chan struct{}), make(chan struct{})
	host, port := tcp(t, func(conn net.Conn) {
		replies := 0
		speak(conn, func() pgproto3.BackendMessage {
			select {
			case <-silent:
				return nil
			default:
			}
			if replies++; replies == 10 {
				close(tenth)
			}
			return &pgproto3.CommandComplete{CommandTag: []byte("LISTEN")}
		})
	})
	table := &postgresTable{spec: tenantv1.PostgresSource{Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants"}, access: &access{}}
	config, err := table.config(&access{})
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{config: config, channel: "c", wire: &meter{}, explain: table.explain, deaf: &atomic.Pointer[string]{}, quiet: 50 * time.Millisecond}
	config.DialFunc = l.wire.dial
	changed, ended := make(chan struct{}, 1), make(chan bool, 1)
	go func() {
		able, failure := l.listen(t.Context(), changed)
		ended <- able && failure != nil
	}()
	<-changed
	select {
	case <-ended:
		t.Fatal("a connection that answers is lost")
	case <-tenth:
	}
	close(silent)
	select {
	case lost := <-ended:
		if !lost {
			t.Error("it does not say that it was lost")
		}
	case <-time.After(time.Minute):
		t.Fatal("a connection that is silent is not lost")
	}
}

// A connection that is cut occasionally, as by a load balancer, is not news.
func TestOnlyAConnectionThatStaysAwayIsNews(t *testing.T) {
	l := &listener{channel: "c", deaf: &atomic.Pointer[string]{}}
	for i, step := range []struct{ able, news, told bool }{
		{false, false, true}, // the first reading comes anyway
		{false, false, true},
		{true, false, false},
		{true, false, false},
		{false, true, true},
		{false, false, true},
		{true, false, false},
	} {
		if step.able { // it had a connection
			l.since = time.Time{}
			l.deaf.Store(nil)
		}
		if news := l.lost(step.able, "connection reset by peer"); news != step.news || (l.deaf.Load() != nil) != step.told {
			t.Errorf("step %d: news %t, told %t", i, news, l.deaf.Load() != nil)
		}
	}
}

func TestAConnectionThatIsCutIsReplacedWithoutAWord(t *testing.T) {
	var d atomic.Pointer[string]
	connections := atomic.Int32{}
	second := make(chan string, 1)
	host, port := tcp(t, func(conn net.Conn) {
		switch connections.Add(1) {
		case 1:
			speak(conn, func() pgproto3.BackendMessage {
				time.AfterFunc(10*time.Millisecond, func() { conn.Close() })
				return &pgproto3.CommandComplete{CommandTag: []byte("LISTEN")}
			})
		case 2:
			if why := d.Load(); why != nil {
				second <- *why
			} else {
				second <- ""
			}
			speak(conn, func() pgproto3.BackendMessage { return &pgproto3.CommandComplete{CommandTag: []byte("LISTEN")} })
		}
	})
	table := &postgresTable{spec: tenantv1.PostgresSource{Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants"}, access: &access{}}
	config, err := table.config(&access{})
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{config: config, channel: "c", wire: &meter{}, explain: table.explain, deaf: &d, quiet: time.Minute}
	config.DialFunc = l.wire.dial
	changed := make(chan struct{}, 1)
	go l.watch(t.Context(), changed)
	<-changed // it listens
	select {
	case <-changed:
		t.Error("a connection that was cut is news before it was tried again")
	case why := <-second:
		if why != "" {
			t.Errorf("reported: %s", why)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not connect again")
	}
	select {
	case <-changed: // nobody received the notifications
	case <-time.After(time.Minute):
		t.Error("no reading after missed notifications")
	}
}
