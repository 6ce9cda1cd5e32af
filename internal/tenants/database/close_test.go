// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Closing a source waits for no statement, and no statement outlives its registry.
func TestReadingsEndWithTheirSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.db")
	writer(t, path, "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n WHERE i < 0")
	host, port := tcp(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	sources := servers(t, host, port)
	sources["sqlite"] = file(t, path, "endless")
	for engine, source := range sources {
		t.Run(engine, func(t *testing.T) {
			came := make(chan error, 1)
			begun := make(chan struct{})
			go func() {
				close(begun)
				_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
				came <- err
			}()
			<-begun
			if err := source.Close(); err != nil {
				t.Error(err)
			}
			// The reading itself may take a minute.
			err := <-came
			wantError(t, err, Failed, "cancelled")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not say that it was stopped", err)
			}
			_, err = source.Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, Failed, "cancelled")
		})
	}
}

// A reading that takes too long has its own connection closed, not that of the next one.
func TestConnectionsAreClosedInTime(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	m := &meter{}
	for range 100 {
		conn, err := m.dial(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop := m.hangUpAfter(ctx)
		cancel()
		stop()
		if err := conn.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("it is still to be closed (%v)", err)
		}
	}
}
