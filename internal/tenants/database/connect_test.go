// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// secretWord must not appear in errors.
const secretWord = "hunter2"

// tcp is a server that does one thing with each connection.
func tcp(t *testing.T, serve func(net.Conn)) (host string, port int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return "127.0.0.1", int32(listener.Addr().(*net.TCPAddr).Port)
}

// servers opens a source of each kind of database server, without TLS.
func servers(t *testing.T, host string, port int32) map[string]Source {
	t.Helper()
	secrets := things{secrets: map[string]map[string][]byte{"db": {"password": []byte(secretWord)}}}
	password := &tenantv1.SecretRef{Name: "db", Key: "password"}
	off := &tenantv1.TLS{Mode: tlsDisable}
	return map[string]Source{
		"mysql": mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourceMySQL, MySQL: &tenantv1.MySQLSource{
			Host: host, Port: port, Username: "reader", PasswordRef: password, Database: "shop", Table: "tenants", TLS: off,
		}}, secrets, Options{}),
		"postgres": mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{
			Host: host, Port: port, Username: "reader", PasswordRef: password, Database: "shop", Table: "tenants", TLS: off,
		}}, secrets, Options{}),
	}
}

func TestWhoIsNoDatabaseIsNotQuoted(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-internal_"+secretWord+"\r\n") })
	for engine, source := range servers(t, host, port) {
		t.Run(engine, func(t *testing.T) {
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
			if err == nil || strings.Contains(err.Error(), secretWord) || strings.Contains(err.Error(), "SSH") {
				t.Fatalf("%v", err)
			}
			wantError(t, err, Unreachable, "tenants", "shop", "reader")
		})
	}
}

func TestNobodyIsThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := int32(listener.Addr().(*net.TCPAddr).Port)
	listener.Close()
	for engine, source := range servers(t, "127.0.0.1", port) {
		t.Run(engine, func(t *testing.T) {
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, Unreachable, "the connection was refused")
		})
	}
	for engine, source := range servers(t, "169.254.169.254", 80) {
		t.Run("metadata services are not connected to by "+engine, func(t *testing.T) {
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, Unreachable, "metadata service")
		})
	}
}

// A silent server blocks a reading until its timeout, and no longer.
func TestAServerThatSaysNothing(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	for engine, source := range servers(t, host, port) {
		t.Run(engine, func(t *testing.T) {
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Time: 300 * time.Millisecond}})
			wantError(t, err, TooMuch, "300ms")
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(100*time.Millisecond, cancel)
			_, err = source.Read(ctx, Query{Columns: []string{"id"}})
			wantError(t, err, Failed, "cancelled")
		})
	}
}

// A malicious server's claimed lengths are ignored, and its data limited.
func TestServersSayOnlySoMuch(t *testing.T) {
	t.Run("mysql, a greeting without end", func(t *testing.T) {
		var sent atomic.Int64
		host, port := tcp(t, func(conn net.Conn) {
			packet := make([]byte, 4+0xffffff)
			packet[0], packet[1], packet[2] = 0xff, 0xff, 0xff
			for {
				n, err := conn.Write(packet)
				if sent.Add(int64(n)); err != nil {
					return
				}
				packet[3]++
			}
		})
		_, err := servers(t, host, port)["mysql"].Read(context.Background(), Query{Columns: []string{"id"}, Limits: Limits{Bytes: 8 << 20}})
		wantError(t, err, TooMuch, "8 MiB")
		// Data in transit comes in addition.
		if got := sent.Load(); got > 2*8<<20+framing+32<<20 {
			t.Errorf("%d bytes were accepted", got)
		}
	})
	t.Run("postgres, a message of two gigabytes", func(t *testing.T) {
		host, port := tcp(t, func(conn net.Conn) {
			conn.Read(make([]byte, 4096))
			conn.Write([]byte{'R', 0x7f, 0xff, 0xff, 0xff})
			io.Copy(io.Discard, conn)
		})
		_, err := servers(t, host, port)["postgres"].Read(context.Background(), Query{Columns: []string{"id"}})
		wantError(t, err, Unreachable, "64 MiB")
	})
}

// Registries do not use the administrator's own environment.
func TestNoEnvironmentCounts(t *testing.T) {
	for name, value := range map[string]string{
		"PGHOST": "elsewhere", "PGPORT": "1", "PGUSER": "root", "PGPASSWORD": secretWord, "PGDATABASE": "all", "PGSSLMODE": "verify-full",
		"PGAPPNAME": "mine", "PGSSLCERT": "/nowhere", "PGSSLKEY": "/nowhere", "PGTARGETSESSIONATTRS": "read-write",
	} {
		t.Setenv(name, value)
	}
	table := &postgresTable{spec: tenantv1.PostgresSource{Host: "db.example", Port: 5432, Username: "reader", Database: "shop", Table: "tenants"}}
	config, err := table.config(&access{})
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "db.example" || config.Port != 5432 || config.User != "reader" || config.Password != "" || config.Database != "shop" {
		t.Errorf("connects to %s:%d/%s as %s, password %q", config.Host, config.Port, config.Database, config.User, config.Password)
	}
	if config.TLSConfig != nil || len(config.Fallbacks) != 0 || len(config.RuntimeParams) != 2 || config.ValidateConnect != nil {
		t.Errorf("TLS %v, fallbacks %v, parameters %v", config.TLSConfig, config.Fallbacks, config.RuntimeParams)
	}
}

func TestHowConnectionsAreSecured(t *testing.T) {
	secrets := things{secrets: map[string]map[string][]byte{"db": {"ca.crt": []byte("no certificate"), "tls.crt": []byte("x"), "tls.key": []byte(secretWord)}}}
	made := func(security *tenantv1.TLS) (*access, error) {
		return newAccess(context.Background(), "read rows", "db.example", nil, security, secrets)
	}
	for sentence, test := range map[string]struct {
		security *tenantv1.TLS
		check    func(*tls.Config) bool
		plain    bool
	}{
		"as far as the server does": {nil, func(c *tls.Config) bool { return c.InsecureSkipVerify }, true},
		"not at all":                {&tenantv1.TLS{Mode: tlsDisable}, func(c *tls.Config) bool { return c == nil }, false},
		"whoever answers":           {&tenantv1.TLS{Mode: tlsRequire}, func(c *tls.Config) bool { return c.InsecureSkipVerify && c.VerifyConnection == nil }, false},
		"who is signed":             {&tenantv1.TLS{Mode: tlsVerifyCA}, func(c *tls.Config) bool { return c.VerifyConnection != nil }, false},
		"who is named":              {&tenantv1.TLS{Mode: tlsVerifyFull}, func(c *tls.Config) bool { return !c.InsecureSkipVerify && c.ServerName == "db.example" }, false},
		"who is named, unless said": {&tenantv1.TLS{}, func(c *tls.Config) bool { return !c.InsecureSkipVerify }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			a, err := made(test.security)
			if err != nil {
				t.Fatal(err)
			}
			if !test.check(a.tls) || a.plain != test.plain {
				t.Errorf("%+v, plain %v", a.tls, a.plain)
			}
		})
	}
	for sentence, test := range map[string]struct {
		security *tenantv1.TLS
		want     string
	}{
		"a mode that is none":    {&tenantv1.TLS{Mode: "strict"}, "strict"},
		"no certificate":         {&tenantv1.TLS{CARef: &tenantv1.SecretRef{Name: "db", Key: "ca.crt"}}, "does not contain a certificate"},
		"no such key":            {&tenantv1.TLS{CARef: &tenantv1.SecretRef{Name: "db", Key: "ca"}}, `does not have a key "ca"`},
		"no such Secret":         {&tenantv1.TLS{CARef: &tenantv1.SecretRef{Name: "gone", Key: "ca"}}, "gone"},
		"none, and an authority": {&tenantv1.TLS{Mode: tlsDisable, CARef: &tenantv1.SecretRef{Name: "db", Key: "ca.crt"}}, "disable"},
		"none, and a client":     {&tenantv1.TLS{Mode: tlsDisable, ClientSecretName: "db"}, "disable"},
		"no client certificate":  {&tenantv1.TLS{ClientSecretName: "db"}, "tls.crt and tls.key"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := made(test.security)
			wantError(t, err, Invalid, test.want)
			if strings.Contains(err.Error(), secretWord) {
				t.Errorf("%v contains a secret", err)
			}
		})
	}
	for _, host := range []string{"", "/var/run/postgresql", "a,b", "a b", "user@host", `C:\pipe`, "a\x00b", "db.example:3306", "[::1]", "::1]:5432"} {
		if _, err := newAccess(context.Background(), "read rows", host, nil, nil, secrets); ClassOf(err) != Invalid {
			t.Errorf("host %q: %v", host, err)
		}
	}
	for _, host := range []string{"db", "db.example", "10.0.0.1", "::1", "fe80::1%eth0"} {
		if _, err := newAccess(context.Background(), "read rows", host, nil, nil, secrets); err != nil {
			t.Errorf("host %q: %v", host, err)
		}
	}
}

// A server that knows the password may repeat it, as some proxies do.
func TestThePasswordIsTakenOutOfMessages(t *testing.T) {
	a := &access{password: `p@ss/w"rd`}
	for said, want := range map[string]string{
		`user x with password p@ss/w"rd`: "user x with password (sensitive)", "p%40ss%2Fw%22rd": "(sensitive)", "p@ss": "p@ss",
		"login " + base64.StdEncoding.EncodeToString([]byte(`p@ss/w"rd`)) + " refused": "login (sensitive) refused",
		`could not parse "p@ss/w\"rd"`: `could not parse "(sensitive)"`,
	} {
		if got := a.hide(said); got != want {
			t.Errorf("%s is shown as %s", said, got)
		}
	}
	if got := (&access{password: "a"}).hide("a table"); got != "a table" {
		t.Error(got)
	}
	if got := (&access{password: "48291"}).hide("x48291@db:5432 refused"); got != "x(sensitive)@db:5432 refused" {
		t.Error(got)
	}
}

// A server in between requests the password in plain text.
func TestAPasswordIsNotToldToAnybody(t *testing.T) {
	told := make(chan string, 10)
	host, port := tcp(t, func(conn net.Conn) {
		backend := pgproto3.NewBackend(conn, conn)
		for {
			message, err := backend.ReceiveStartupMessage()
			if err != nil {
				return
			}
			if _, security := message.(*pgproto3.SSLRequest); security {
				conn.Write([]byte("N"))
				continue
			}
			backend.Send(&pgproto3.AuthenticationCleartextPassword{})
			if backend.Flush() != nil {
				return
			}
			answer, _ := io.ReadAll(conn)
			told <- string(answer)
			return
		}
	})
	secrets := things{secrets: map[string]map[string][]byte{"db": {"password": []byte(secretWord)}}}
	for sentence, security := range map[string]*tenantv1.TLS{"as far as the server does": nil, "not at all": {Mode: tlsDisable}} {
		t.Run(sentence, func(t *testing.T) {
			source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{
				Host: host, Port: port, Username: "reader", PasswordRef: &tenantv1.SecretRef{Name: "db", Key: "password"}, Database: "shop", Table: "tenants", TLS: security,
			}}, secrets, Options{})
			_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
			wantError(t, err, AccessDenied, "clear text", "verify-full")
			if answer := <-told; strings.Contains(answer, secretWord) {
				t.Errorf("the password was sent: %q", answer)
			}
		})
	}
}

// Old servers use obsolete encryption. The error says what to do.
func TestEncryptionThatIsTooOld(t *testing.T) {
	host, port := tcp(t, func(conn net.Conn) {
		// A greeting of MySQL 5.7 that offers TLS, and the alert that it supports no requested
		// version.
		greeting := "\x0a5.7.0\x00\x01\x00\x00\x00abcdefgh\x00\x00\x8a\x21\x02\x00\x08\x00\x15" + strings.Repeat("\x00", 10) + "ijklmnopqrst\x00mysql_native_password\x00"
		io.WriteString(conn, string([]byte{byte(len(greeting)), 0, 0, 0})+greeting)
		conn.Read(make([]byte, 4096))
		conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 70})
		io.Copy(io.Discard, conn)
	})
	source := mustOpen(t, tenantv1.DataSource{Type: tenantv1.SourceMySQL, MySQL: &tenantv1.MySQLSource{
		Host: host, Port: port, Username: "reader", Database: "shop", Table: "tenants",
	}}, things{}, Options{})
	_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
	wantError(t, err, Unreachable, "tls.mode to disable")
}
