// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// A document of a few bytes must not become rows of gigabytes.
func TestWhatIsNotThereCosts(t *testing.T) {
	var columns, fields []string
	for n := range 1000 {
		columns = append(columns, fmt.Sprintf("c%d", n))
		fields = append(fields, fmt.Sprintf(`"c%d":1`, n))
	}
	text := "[{" + strings.Join(fields, ",") + "}" + strings.Repeat(",{}", 10_000) + "]"
	_, err := fromKey(t, "t.json", text).Read(context.Background(), Query{Columns: columns, Limits: Limits{Bytes: 16 << 20}})
	wantError(t, err, TooMuch, "16 MiB")
	if got := mustRead(t, fromKey(t, "t.json", text), Query{Columns: columns[:2]}); len(got.Rows) != 10_001 {
		t.Errorf("%d rows", len(got.Rows))
	}
}

func TestOneValueIsKeptAsAWholeOnlySoFar(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	for sentence, begin := range map[string]string{"a row": `[{"id": "`, "beside the rows": `{"rows": [{"id": "a"}], "more": "`} {
		t.Run(sentence, func(t *testing.T) {
			var sent atomic.Int64
			url := web(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, begin)
				for r.Context().Err() == nil && sent.Load() < 200<<20 {
					n, err := fmt.Fprint(w, line)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			})
			rows := ""
			if strings.HasPrefix(begin, "{") {
				rows = "rows"
			}
			_, err := mustOpen(t, httpSpec(tenantv1.HTTPSource{URL: url, Rows: rows}), things{}, Options{}).Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, TooMuch, "64 MiB")
		})
	}
}

// Rows that conditions exclude take time, too.
func TestDocumentsTakeOnlySoLong(t *testing.T) {
	for _, key := range []string{"t.json", "t.yaml", "t.csv"} {
		text := map[string]string{"t.json": `[{"id": "a"}]`, "t.yaml": "- {id: a}", "t.csv": "id\na"}[key]
		_, err := fromKey(t, key, text).Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Time: time.Nanosecond}})
		wantError(t, err, TooMuch, "1ns")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = fromKey(t, key, text).Read(ctx, Query{Columns: []string{"id"}})
		wantError(t, err, Failed, "cancelled")
	}
}

func TestAViewThatMakesMuchOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.db")
	writer(t, path, "CREATE VIEW large AS SELECT 'a' AS id, hex(zeroblob(200000000)) AS url",
		"CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, '' AS url FROM n WHERE i < 0")
	query := Query{Columns: []string{"id", "url"}}
	_, err := file(t, path, "large").Read(context.Background(), query)
	wantError(t, err, TooMuch, "64 MiB")
	query.Limits.Time = 300 * time.Millisecond
	_, err = file(t, path, "endless").Read(context.Background(), query)
	wantError(t, err, TooMuch, "300ms")
}

// A listener reconnects to a server that notifies forever, so that its messages are not kept.
func TestWhoNotifiesWithoutEnd(t *testing.T) {
	connections := make(chan struct{}, 100)
	host, port := tcp(t, func(conn net.Conn) {
		connections <- struct{}{}
		notifyForEver(conn)
	})
	source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{
		Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants", Channel: "c", TLS: &tenantv1.TLS{Mode: tlsDisable},
	}}, things{}, Options{})
	changes := source.Changes(t.Context())
	for range 2 {
		<-connections
	}
	<-changes
}

// notifyForEver accepts every client and answers a statement with endless notifications of 1 KiB.
func notifyForEver(conn net.Conn) {
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	send := func(messages ...pgproto3.BackendMessage) error {
		for _, m := range messages {
			backend.Send(m)
		}
		return backend.Flush()
	}
	if send(&pgproto3.AuthenticationOk{}, &pgproto3.ReadyForQuery{TxStatus: 'I'}) != nil {
		return
	}
	if _, err := backend.Receive(); err != nil {
		return
	}
	if send(&pgproto3.CommandComplete{CommandTag: []byte("LISTEN")}, &pgproto3.ReadyForQuery{TxStatus: 'I'}) != nil {
		return
	}
	said := &pgproto3.NotificationResponse{Channel: "c", Payload: strings.Repeat("x", 1<<10)}
	for send(said, said, said, said, said, said, said, said) == nil { //nolint:revive // until the client hangs up
	}
}
