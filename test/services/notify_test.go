// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/tenants/database"
)

// told waits for a signal.
func told(t *testing.T, changes <-chan struct{}, what string) {
	t.Helper()
	select {
	case _, open := <-changes:
		if !open {
			t.Fatalf("%s: the channel is closed", what)
		}
	case <-time.After(patience):
		t.Fatalf("%s: nobody told", what)
	}
}

func TestPostgreSQLTellsOfChanges(t *testing.T) {
	s := postgres(t)
	const channel = `Tenants "changed"`
	s.table(t, "heard", "id text")
	s.Exec(t, `CREATE OR REPLACE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY "Tenants ""changed"""; RETURN NULL; END $$`,
		"CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON heard FOR EACH STATEMENT EXECUTE FUNCTION tell()")
	t.Cleanup(func() { s.Exec(t, "DROP FUNCTION tell CASCADE") })
	source := s.open(t, "heard", place{channel: channel})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes := source.Changes(ctx)
	told(t, changes, "that it listens")
	query := database.Query{Columns: []string{"id"}}
	for n := range 3 {
		began := time.Now()
		s.Exec(t, "INSERT INTO heard VALUES ('a')")
		told(t, changes, "of a row")
		t.Logf("told after %s", time.Since(began).Round(time.Millisecond))
		if got := read(t, source, query); len(got.Rows) != n+1 {
			t.Errorf("the reading after the signal has %d rows, want %d", len(got.Rows), n+1)
		}
	}
	t.Run("a thousand changes are a few signals", func(t *testing.T) {
		for range 1000 {
			s.Exec(t, "NOTIFY "+s.name(channel))
		}
		s.Exec(t, "INSERT INTO heard VALUES ('last')")
		signals := 0
		for seen := false; !seen; {
			told(t, changes, "of the last row")
			signals++
			for _, id := range column(read(t, source, query), "id") {
				seen = seen || id == "last"
			}
		}
		if signals > 200 {
			t.Errorf("%d signals", signals)
		}
	})
	t.Run("a server that was away is listened to again", func(t *testing.T) {
		s.Kill()
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		// Notifications sent meanwhile are lost, so reconnecting is itself a signal. An earlier one may
		// come first.
		eventually(t, func() error {
			_, err := source.Read(context.Background(), query)
			return err
		})
		told(t, changes, "that it listens again")
		s.Exec(t, "INSERT INTO heard VALUES ('after')")
		for seen := false; !seen; {
			told(t, changes, "of the row after that")
			for _, id := range column(read(t, source, query), "id") {
				seen = seen || id == "after"
			}
		}
	})
	t.Run("it ends with the source", func(t *testing.T) {
		source.Close()
		for range changes { //nolint:revive // it ends
		}
		var count int
		eventually(t, func() error {
			if err := s.DB.QueryRow("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = $1", s.Username).Scan(&count); err != nil || count == 0 {
				return err
			}
			return fmt.Errorf("%d connections are left", count)
		})
	})
}

// limited opens a table of one row with a channel, as a user with a limited number of connections.
func limited(t *testing.T, s server, table, user string, connections int) database.Source {
	t.Helper()
	s.table(t, table, "id text", "('a')")
	s.Exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'some-password' CONNECTION LIMIT %d", user, connections), "GRANT SELECT ON "+table+" TO "+user)
	t.Cleanup(func() { s.Exec(t, "DROP OWNED BY "+user, "DROP ROLE "+user) })
	source := s.open(t, table, place{user: user, password: "some-password", channel: "tenants"})
	t.Cleanup(func() { source.Close() }) //nolint:errcheck // as its users do
	return source
}

// A user with one connection can read but not listen. The reading reports that.
func TestAChannelThatNobodyMayListenTo(t *testing.T) {
	s := postgres(t)
	source := limited(t, s, "hermits", "hermit", 1)
	query := database.Query{Columns: []string{"id"}}
	if got := read(t, source, query); got.Deaf != "" {
		t.Errorf("before anybody has tried to listen it is told that %s", got.Deaf)
	}
	source.Changes(t.Context())
	eventually(t, func() error {
		if got := read(t, source, query); !strings.Contains(got.Deaf, `"tenants"`) || !strings.Contains(got.Deaf, "too many connections") {
			return fmt.Errorf("that nobody listens is told as %q", got.Deaf)
		}
		return nil
	})
	s.Exec(t, "ALTER ROLE hermit CONNECTION LIMIT 5")
	eventually(t, func() error {
		if got := read(t, source, query); got.Deaf != "" {
			return fmt.Errorf("it is told that %s", got.Deaf)
		}
		return nil
	})
}

// A person or a pooler may close a connection. A reading follows at once and reports the loss,
// because changes may be missed from then on. After reconnecting, another reading finds them.
func TestALostConnectionIsShownAndReplaced(t *testing.T) {
	s := postgres(t)
	source := limited(t, s, "missed", "fickle", 2)
	query := database.Query{Columns: []string{"id"}}
	read(t, source, query) // which keeps its connection
	changes := source.Changes(t.Context())
	told(t, changes, "that it listens")

	s.Exec(t, "ALTER ROLE fickle CONNECTION LIMIT 1",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fickle' AND query LIKE 'LISTEN%'")
	began := time.Now()
	told(t, changes, "that nobody listens any more")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("that is told after %s", took)
	}
	got := read(t, source, query)
	_, since, _ := strings.Cut(got.Deaf, `LISTEN on channel "tenants" has failed since `)
	since, _, _ = strings.Cut(since, ": ")
	if at, err := time.Parse(time.RFC3339, since); err != nil || time.Since(at) > time.Minute {
		t.Errorf("it is shown as %q: %v", got.Deaf, err)
	}
	s.Exec(t, "INSERT INTO missed VALUES ('b')", "NOTIFY tenants")
	eventually(t, func() error { // of all the attempts in between the moment stays that of the loss
		got := read(t, source, query)
		if !strings.Contains(got.Deaf, since) {
			t.Fatalf("since %s it is shown as %q", since, got.Deaf)
		}
		if !strings.Contains(got.Deaf, "too many connections") {
			return fmt.Errorf("it is shown as %q", got.Deaf)
		}
		return nil
	})

	s.Exec(t, "ALTER ROLE fickle CONNECTION LIMIT 2")
	began = time.Now()
	told(t, changes, "that it listens again")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it listens again after %s", took)
	}
	if got := read(t, source, query); got.Deaf != "" || len(got.Rows) != 2 {
		t.Errorf("%d rows, and %q", len(got.Rows), got.Deaf)
	}
}

func TestWhoCannotTell(t *testing.T) {
	if mariadb(t).open(t, "any", place{}).Changes(t.Context()) != nil {
		t.Error("MariaDB cannot tell of changes")
	}
	if postgres(t).open(t, "any", place{}).Changes(t.Context()) != nil {
		t.Error("nobody listens without a channel")
	}
	// A server that is not there is tried again and again, and the channel ends all the same.
	s := postgres(t)
	source := s.open(t, "any", place{channel: "tenants", port: 1})
	changes := source.Changes(context.Background())
	source.Close()
	if _, open := <-changes; open {
		t.Error("nobody was there to tell of changes")
	}
}
