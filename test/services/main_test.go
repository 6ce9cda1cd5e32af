// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/testkit/dbtest"
)

// patience is the timeout for operations that are fast on an idle machine.
const patience = 2 * time.Minute

// shared are the servers of this test binary. The first test that needs one starts it.
var shared struct {
	mariadb, postgres    server
	mariaOnce, postOnce  sync.Once
	mariaError, posError error
}

// server is a database server with its dialect.
type server struct {
	*dbtest.Server
	kind tenantv1.SourceType
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range []server{shared.mariadb, shared.postgres} {
		if s.Server == nil {
			continue
		}
		if err := s.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop %s: %v\n", s.Engine, err)
			code = 1
		}
	}
	os.Exit(code)
}

func mariadb(t *testing.T) server {
	t.Helper()
	shared.mariaOnce.Do(func() {
		shared.mariadb.kind = tenantv1.SourceMySQL
		shared.mariadb.Server, shared.mariaError = dbtest.StartMariaDB()
	})
	if shared.mariaError != nil {
		t.Fatal(shared.mariaError)
	}
	return shared.mariadb
}

func postgres(t *testing.T) server {
	t.Helper()
	shared.postOnce.Do(func() {
		shared.postgres.kind = tenantv1.SourcePostgres
		shared.postgres.Server, shared.posError = dbtest.StartPostgres()
	})
	if shared.posError != nil {
		t.Fatal(shared.posError)
	}
	return shared.postgres
}

// each runs a test on both servers.
func each(t *testing.T, test func(t *testing.T, s server)) {
	t.Run("MariaDB", func(t *testing.T) { test(t, mariadb(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, postgres(t)) })
}

// name quotes an identifier.
func (s server) name(text string) string {
	mark := `"`
	if s.kind == tenantv1.SourceMySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(text, mark, mark+mark) + mark
}

// table creates a table for one test, which the ordinary user may read.
func (s server) table(t *testing.T, name, columns string, rows ...string) {
	t.Helper()
	s.Exec(t, "DROP TABLE IF EXISTS "+s.name(name), "CREATE TABLE "+s.name(name)+"("+columns+")")
	t.Cleanup(func() { s.Exec(t, "DROP TABLE IF EXISTS "+s.name(name)) })
	if s.kind == tenantv1.SourcePostgres {
		s.Exec(t, "GRANT SELECT ON "+s.name(name)+" TO "+dbtest.Username)
	}
	for _, row := range rows {
		s.Exec(t, "INSERT INTO "+s.name(name)+" VALUES "+row)
	}
}

// place is the address and user of a connection.
type place struct {
	host, user, password, database, schema, channel string
	port                                            int32
	tls                                             *tenantv1.TLS
}

// spec describes a table as in a registry.
func (s server) spec(table string, p place) (tenantv1.DataSource, database.Secrets) {
	set := func(value *string, otherwise string) {
		if *value == "" {
			*value = otherwise
		}
	}
	set(&p.host, s.Host)
	set(&p.user, s.Username)
	set(&p.password, s.Password)
	set(&p.database, s.Database)
	if p.port == 0 {
		p.port = s.Port
	}
	secrets := lookup{"db": {"password": []byte(p.password), "ca.crt": s.CA, "tls.crt": s.Certificate, "tls.key": s.Key}}
	ref := &tenantv1.SecretRef{Name: "db", Key: "password"}
	if s.kind == tenantv1.SourceMySQL {
		return tenantv1.DataSource{Type: s.kind, MySQL: &tenantv1.MySQLSource{
			Host: p.host, Port: p.port, Username: p.user, PasswordRef: ref, Database: p.database, Table: table, TLS: p.tls,
		}}, secrets
	}
	return tenantv1.DataSource{Type: s.kind, Postgres: &tenantv1.PostgresSource{
		Host: p.host, Port: p.port, Username: p.user, PasswordRef: ref, Database: p.database, Schema: p.schema, Table: table,
		Channel: p.channel, TLS: p.tls,
	}}, secrets
}

// open opens a source for a table.
func (s server) open(t *testing.T, table string, p place) database.Source {
	t.Helper()
	spec, secrets := s.spec(table, p)
	source, err := database.Open(context.Background(), spec, secrets, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	return source
}

// lookup are Secrets.
type lookup map[string]map[string][]byte

func (l lookup) Secret(_ context.Context, name string) (map[string][]byte, error) {
	if data, has := l[name]; has {
		return data, nil
	}
	return nil, fmt.Errorf("read Secret %s: it is not there", name)
}

func (l lookup) ConfigMap(_ context.Context, name string) (map[string]string, error) {
	return nil, fmt.Errorf("read ConfigMap %s: it is not there", name)
}

func read(t *testing.T, source database.Source, q database.Query) *database.Reading {
	t.Helper()
	reading, err := source.Read(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// null represents NULL in expectations.
const null = "NULL"

// plain converts the rows of a reading to texts.
func plain(reading *database.Reading) []map[string]string {
	all := []map[string]string{}
	for _, row := range reading.Rows {
		texts := map[string]string{}
		for column, value := range row {
			texts[column] = null
			if value != nil {
				texts[column] = *value
			}
		}
		all = append(all, texts)
	}
	return all
}

func column(reading *database.Reading, name string) []string {
	values := []string{}
	for _, row := range plain(reading) {
		values = append(values, row[name])
	}
	return values
}

// wantError checks an error's class and some of its words, and that it contains no password.
func wantError(t *testing.T, err error, class database.Class, words ...string) {
	t.Helper()
	var known *database.Error
	if !errors.As(err, &known) {
		t.Fatalf("%v is no error of package rows, want %s", err, class)
	}
	if known.Class != class {
		t.Errorf("%v is of class %s, want %s", err, known.Class, class)
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), dbtest.Password) || strings.Contains(err.Error(), "wrong-password") {
		t.Errorf("%v tells the password", err)
	}
}

// eventually retries until try succeeds.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// between is a relay to a server that calls then once, after this many bytes from the server. Later
// bytes wait until then returns.
func between(t *testing.T, to string, after int64, then func()) (host string, port int32) {
	t.Helper()
	var once sync.Once
	return through(t, to, func(total int64) {
		if total >= after {
			once.Do(then)
		}
	})
}

// through is a relay to a server that reports the number of bytes from the server on a connection
// before it forwards the last of them.
func through(t *testing.T, to string, came func(total int64)) (host string, port int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(client, to, came)
		}
	}()
	return "127.0.0.1", int32(listener.Addr().(*net.TCPAddr).Port)
}

func relay(client net.Conn, to string, came func(total int64)) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		copyAll(server, client, func(int) {})
	}()
	total := int64(0)
	copyAll(client, server, func(n int) {
		total += int64(n)
		came(total)
	})
}

func copyAll(to, from net.Conn, came func(n int)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		came(n)
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
