// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pdnstest starts real PowerDNS authoritative servers on this machine, with their API and a
// database in a file, and HTTP servers that they check.
package pdnstest

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the database of the server
)

// Server is a running PowerDNS.
type Server struct {
	// URL is its API, Key the key, and Nameserver where it answers, as HOST:PORT.
	URL, Key, Nameserver string
	log                  string
}

// CheckInterval is how often it checks endpoints.
const CheckInterval = 2 * time.Second

// schema are the tables that the server reads and writes through its API: those of its own schema.
const schema = "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"

// Start starts a server that ends with the test, with zones. Settings are lines of its configuration.
func Start(t testing.TB, zones []string, settings ...string) *Server {
	t.Helper()
	program, err := exec.LookPath("pdns_server")
	if err != nil {
		program = "/usr/sbin/pdns_server"
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no PowerDNS. As root on Debian, this installs it:\n    tools/ensure-databases")
	}
	dir, err := os.MkdirTemp("", "pdns") // its sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // a temporary directory
	database := filepath.Join(dir, "db.sqlite")
	fill(t, database, zones)
	s := &Server{URL: "http://" + free(t, "tcp"), Key: "key-of-the-test", Nameserver: free(t, "udp"), log: filepath.Join(dir, "log")}
	lines := append([]string{"launch=gsqlite3", "gsqlite3-database=" + database, "socket-dir=" + dir, "api=yes", "api-key=" + s.Key, "webserver=yes",
		"webserver-address=127.0.0.1", "webserver-port=" + port(s.URL), "local-address=127.0.0.1", "local-port=" + port(s.Nameserver),
		"enable-lua-records=yes", fmt.Sprintf("lua-health-checks-interval=%d", int(CheckInterval.Seconds())),
		"cache-ttl=0", "query-cache-ttl=0", "negquery-cache-ttl=0", "zone-cache-refresh-interval=0", "security-poll-suffix="}, settings...)
	if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config-dir="+dir, "--daemon=no", "--guardian=no", "--disable-syslog=yes")
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + dir}, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it only serves the test
		cmd.Wait()         //nolint:errcheck // it only serves the test
		log.Close()        //nolint:errcheck // it only serves the test
	})
	s.await(t)
	return s
}

// fill makes the database with its zones.
func fill(t testing.TB, file string, zones []string) {
	t.Helper()
	tables, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal("PowerDNS' package pdns-backend-sqlite3 is not there: ", err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it is written
	if _, err := db.Exec(string(tables)); err != nil {
		t.Fatal(err)
	}
	for i, zone := range zones {
		if _, err := db.Exec("INSERT INTO domains (id, name, type) VALUES (?, ?, 'NATIVE')", i+1, zone); err != nil {
			t.Fatal(err)
		}
		for kind, content := range map[string]string{"SOA": "ns1." + zone + " hostmaster." + zone + " 1 10800 3600 604800 60", "NS": "ns1." + zone} {
			if _, err := db.Exec("INSERT INTO records (domain_id, name, type, content, ttl) VALUES (?, ?, ?, ?, 60)", i+1, zone, kind, content); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *Server) await(t testing.TB) {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		response, err := client.Get(s.URL)
		if err == nil {
			response.Body.Close() //nolint:errcheck // it is not read
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("PowerDNS does not start: %v\n%s", err, s.Log())
		}
	}
}

// Log is what the server wrote.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log)
	return string(text)
}

// free is a port of the loopback address that nobody uses. DNS servers need theirs of both networks.
func free(t testing.TB, network string) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close() //nolint:errcheck // only its number is used
		if network == "tcp" {
			return address
		}
		if c, err := net.ListenPacket("udp", address); err == nil {
			c.Close() //nolint:errcheck // only its number is used
			return address
		}
	}
	t.Fatal("no port is free for UDP and TCP")
	return ""
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// Backend is an HTTP server on an address of the loopback network, which goes up and down.
type Backend struct {
	// Address is such as 127.0.0.11.
	Address string
	port    int
	server  *http.Server
}

// Up starts the backend at a port.
func (b *Backend) Up(t testing.TB, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(b.Address, fmt.Sprint(port)))
	if err != nil {
		t.Fatal(err)
	}
	b.port = port
	b.server = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "healthy: it's %s at %s\n", r.Host, b.Address) //nolint:errcheck // the server asks again
	})}
	go b.server.Serve(listener) //nolint:errcheck // it ends with Down
	t.Cleanup(b.Down)
}

// Down ends the backend: connections to it are refused.
func (b *Backend) Down() { b.server.Close() } //nolint:errcheck // it is gone in any case

// FreePort is a port that is free on all addresses of backends.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()                     //nolint:errcheck // only its number is used
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it is TCP
}
