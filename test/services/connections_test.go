// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/testkit/dbtest"
)

// encrypted checks whether a reading uses an encrypted connection: the view asks the server about
// its session.
func encrypted(t *testing.T, s server) {
	t.Helper()
	if s.kind == tenantv1.SourceMySQL {
		s.Exec(t, "CREATE OR REPLACE SQL SECURITY INVOKER VIEW session AS SELECT 'a' AS id, VARIABLE_VALUE AS cipher"+
			" FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'")
	} else {
		s.Exec(t, "CREATE OR REPLACE VIEW session AS SELECT 'a' AS id, COALESCE(cipher, '') AS cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
			"GRANT SELECT ON session TO "+dbtest.Username)
	}
	t.Cleanup(func() { s.Exec(t, "DROP VIEW session") })
}

func TestHowConnectionsAreSecured(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		encrypted(t, s)
		ca := &tenantv1.SecretRef{Name: "db", Key: "ca.crt"}
		for sentence, test := range map[string]struct {
			host    string
			tls     *tenantv1.TLS
			secured bool
			problem string
		}{
			"as far as the server does":                  {"127.0.0.1", nil, true, ""},
			"not at all":                                 {"127.0.0.1", &tenantv1.TLS{Mode: "disable"}, false, ""},
			"whoever answers":                            {"127.0.0.1", &tenantv1.TLS{Mode: "require"}, true, ""},
			"by somebody whom the authority knows":       {"127.0.0.1", &tenantv1.TLS{Mode: "verify-ca", CARef: ca}, true, ""},
			"by somebody whom the system does not know":  {"127.0.0.1", &tenantv1.TLS{Mode: "verify-ca"}, false, "untrusted authority"},
			"by the host that is named":                  {"localhost", &tenantv1.TLS{Mode: "verify-full", CARef: ca}, true, ""},
			"by the host that is named, unless said":     {"localhost", &tenantv1.TLS{CARef: ca}, true, ""},
			"by another host":                            {"127.0.0.1", &tenantv1.TLS{Mode: "verify-full", CARef: ca}, false, "certificate is"},
			"by the host, whom the system does not know": {"localhost", &tenantv1.TLS{}, false, "untrusted authority"},
		} {
			t.Run(sentence, func(t *testing.T) {
				got, err := s.open(t, "session", place{host: test.host, tls: test.tls}).Read(context.Background(), database.Query{Columns: []string{"id", "cipher"}})
				if test.problem != "" {
					wantError(t, err, database.Unreachable, test.problem)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if cipher := column(got, "cipher"); len(cipher) != 1 || (cipher[0] != "" && cipher[0] != null) != test.secured {
					t.Errorf("the cipher is %q", cipher)
				}
			})
		}
	})
}

func TestCertificatesOfClients(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "vault", "id VARCHAR(20)", "('a')")
		if s.kind == tenantv1.SourceMySQL {
			s.Exec(t, "CREATE USER "+dbtest.Certified+"@'%' IDENTIFIED BY 'some-password' REQUIRE X509", "GRANT SELECT ON vault TO "+dbtest.Certified+"@'%'")
			t.Cleanup(func() { s.Exec(t, "DROP USER "+dbtest.Certified+"@'%'") })
		} else {
			s.Exec(t, "ALTER ROLE "+dbtest.Certified+" PASSWORD 'some-password'")
		}
		as := place{user: dbtest.Certified, password: "some-password", tls: &tenantv1.TLS{Mode: "require", ClientSecretName: "db"}}
		if got := column(read(t, s.open(t, "vault", as), database.Query{Columns: []string{"id"}}), "id"); len(got) != 1 {
			t.Errorf("%v", got)
		}
		as.tls = &tenantv1.TLS{Mode: "require"}
		_, err := s.open(t, "vault", as).Read(context.Background(), database.Query{Columns: []string{"id"}})
		wantError(t, err, database.AccessDenied)
	})
}

// If the server dies during a reading, that reading has no rows, and the next one has all.
func TestAServerThatDiesInTheMiddleOfAReading(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		const count = 100_000
		many(t, s, "doomed", count)
		died := make(chan struct{})
		host, port := between(t, net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))), 1<<20, func() {
			s.Kill()
			close(died)
		})
		// The relay counts bytes, so it must see them unencrypted.
		source := s.open(t, "doomed", place{host: host, port: port, tls: &tenantv1.TLS{Mode: "disable"}})
		query := database.Query{Columns: []string{"id", "url"}}
		reading, err := source.Read(context.Background(), query)
		<-died
		if reading != nil {
			t.Errorf("%d rows of a server that is dead", len(reading.Rows))
		}
		wantError(t, err, database.Unreachable, "doomed")
		_, err = source.Read(context.Background(), query)
		wantError(t, err, database.Unreachable)
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			reading, err := source.Read(context.Background(), query)
			if err == nil && len(reading.Rows) != count {
				t.Fatalf("%d rows", len(reading.Rows))
			}
			return err
		})
	})
}

// A server that freezes when all rows have come, and before the reading is over, holds it only as long as it may take.
func TestAServerThatFreezes(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "frozen", "id VARCHAR(20)", "('a')", "('b')")
		address := net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port)))
		query := database.Query{Columns: []string{"id"}, Limits: database.Limits{Time: 3 * time.Second}}
		var all atomic.Int64
		host, port := through(t, address, all.Store)
		read(t, s.open(t, "frozen", place{host: host, port: port, tls: &tenantv1.TLS{Mode: "disable"}}), query)
		thaw := make(chan struct{})
		defer close(thaw)
		host, port = between(t, address, all.Load()-5, func() { <-thaw })
		reading, err := s.open(t, "frozen", place{host: host, port: port, tls: &tenantv1.TLS{Mode: "disable"}}).Read(context.Background(), query)
		if err == nil && len(reading.Rows) != 2 {
			t.Errorf("%v", reading.Rows)
		}
	})
}

// Rows move between tenants all the time, and each reading sees exactly the right number.
func TestReadingsAreOfOneMoment(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		many(t, s, "moving", 2000)
		ctx, stop := context.WithCancel(context.Background())
		moved := make(chan error, 1)
		go func() {
			moved <- func() error {
				for n := 0; ctx.Err() == nil; n++ {
					tx, err := s.DB.Begin()
					if err != nil {
						return err
					}
					for _, statement := range []string{
						fmt.Sprintf("DELETE FROM moving WHERE id = 'tenant-%d'", n%2000), fmt.Sprintf("INSERT INTO moving VALUES ('tenant-%d', '')", n%2000),
					} {
						if _, err := tx.Exec(statement); err != nil {
							return errors.Join(err, tx.Rollback())
						}
					}
					if err := tx.Commit(); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
		source := s.open(t, "moving", place{})
		for range 50 {
			if got := read(t, source, database.Query{Columns: []string{"id"}}); len(got.Rows) != 2000 {
				t.Errorf("%d rows", len(got.Rows))
			}
		}
		stop()
		if err := <-moved; err != nil {
			t.Fatal(err)
		}
	})
}

func TestConnectionsAreKept(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		session := "CREATE OR REPLACE VIEW whoami AS SELECT 'a' AS id, CONNECTION_ID() AS n"
		if s.kind == tenantv1.SourcePostgres {
			session = "CREATE OR REPLACE VIEW whoami AS SELECT 'a' AS id, pg_backend_pid() AS n"
		}
		s.Exec(t, session)
		t.Cleanup(func() { s.Exec(t, "DROP VIEW whoami") })
		if s.kind == tenantv1.SourcePostgres {
			s.Exec(t, "GRANT SELECT ON whoami TO "+dbtest.Username)
		}
		source := s.open(t, "whoami", place{})
		sessions := map[string]bool{}
		for range 20 {
			sessions[column(read(t, source, database.Query{Columns: []string{"id", "n"}}), "n")[0]] = true
			// An error in a statement does not close the connection.
			_, err := source.Read(context.Background(), database.Query{Columns: []string{"missing"}})
			wantError(t, err, database.NotFound)
		}
		if len(sessions) != 1 {
			t.Errorf("20 readings had %d connections", len(sessions))
		}
	})
}

// Drivers cache data for the lifetime of a connection, so connections are replaced after a time.
func TestConnectionsWearOut(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		session := "CONNECTION_ID()"
		if s.kind == tenantv1.SourcePostgres {
			session = "pg_backend_pid()"
		}
		s.Exec(t, "CREATE OR REPLACE VIEW large AS SELECT 'a' AS id, "+session+" AS n, REPEAT('x', 15000000) AS text")
		t.Cleanup(func() { s.Exec(t, "DROP VIEW large") })
		if s.kind == tenantv1.SourcePostgres {
			s.Exec(t, "GRANT SELECT ON large TO "+dbtest.Username)
		}
		source := s.open(t, "large", place{})
		sessions := map[string]bool{}
		for range 8 {
			sessions[column(read(t, source, database.Query{Columns: []string{"id", "n", "text"}}), "n")[0]] = true
		}
		if len(sessions) != 2 {
			t.Errorf("120 MB came over %d connections, want 2", len(sessions))
		}
	})
}

// A statement that takes too long ends. Yuba also cancels it in PostgreSQL; MariaDB notices the
// closed connection.
func TestReadingsThatTakeTooLong(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		slow, busy := "SLEEP(20)", "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '"+dbtest.Username+"' AND COMMAND NOT IN ('Sleep', 'Killed') AND INFO LIKE '%slow%'"
		if s.kind == tenantv1.SourcePostgres {
			slow, busy = "CAST(pg_sleep(20) AS text)", "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = '"+dbtest.Username+"' AND state = 'active'"
		}
		s.Exec(t, "CREATE OR REPLACE VIEW slow AS SELECT 'a' AS id, "+slow+" AS n")
		t.Cleanup(func() { s.Exec(t, "DROP VIEW slow") })
		if s.kind == tenantv1.SourcePostgres {
			s.Exec(t, "GRANT SELECT ON slow TO "+dbtest.Username)
		}
		source := s.open(t, "slow", place{})
		query := database.Query{Columns: []string{"id", "n"}, Limits: database.Limits{Time: 2 * time.Second}}
		_, err := source.Read(context.Background(), query)
		wantError(t, err, database.TooMuch)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer cancel()
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				var count int
				if s.DB.QueryRow(busy).Scan(&count) == nil && count > 0 {
					return
				}
			}
		}()
		query.Limits.Time = patience
		_, err = source.Read(ctx, query)
		wantError(t, err, database.Failed, "it was cancelled")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not tell who stopped it", err)
		}
		if s.kind == tenantv1.SourcePostgres {
			eventually(t, func() error {
				var count int
				if err := s.DB.QueryRow(busy).Scan(&count); err != nil || count == 0 {
					return err
				}
				return fmt.Errorf("%d statements go on", count)
			})
		}
	})
}
