// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// A replica lets nobody listen, though it can be read. Whoever relies on it must find that out.
func TestWhoIsNotListenedToIsTold(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) {
		backend := pgproto3.NewBackend(conn, conn)
		if _, err := backend.ReceiveStartupMessage(); err != nil {
			return
		}
		backend.Send(&pgproto3.AuthenticationOk{})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if backend.Flush() != nil {
			return
		}
		for {
			message, err := backend.Receive()
			if err != nil {
				return
			}
			switch message.(type) {
			case *pgproto3.Sync, *pgproto3.Query:
				backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "25006", Message: "cannot execute LISTEN during recovery"})
				backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				if backend.Flush() != nil {
					return
				}
			}
		}
	})
	source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{
		Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants", Channel: "c", TLS: &tenantv1.TLS{Mode: tlsDisable},
	}}, things{}, Options{})
	source.Changes(t.Context())
	const want = `channel "c" is not listened to: cannot execute LISTEN during recovery`
	for deadline := time.Now().Add(time.Minute); deafness(source) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is told as %q", deafness(source))
		}
	}
}

// A driver that stumbles over what a server says must not take this server along.
func TestAListenerThatStumbles(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	table := &postgresTable{spec: tenantv1.PostgresSource{Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants"}}
	config, err := table.config(&access{})
	if err != nil {
		t.Fatal(err)
	}
	config.BuildFrontend = func(io.Reader, io.Writer) *pgproto3.Frontend { panic("a length below zero") }
	l := &listener{config: config, channel: "c", wire: &meter{}, explain: table.explain, deaf: &atomic.Pointer[string]{}}
	if l.listen(t.Context(), make(chan struct{}, 1)) {
		t.Error("it says that it has listened")
	}
	if why := l.deaf.Load(); why == nil || !strings.Contains(*why, "cannot cope") {
		t.Error("nobody is told")
	}
}
