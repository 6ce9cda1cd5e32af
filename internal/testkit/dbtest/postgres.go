// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dbtest

import (
	"database/sql"
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Certified is a user of PostgreSQL servers who needs a certificate beside the password.
const Certified = "certified"

// Postgres starts a PostgreSQL server that ends with the test.
func Postgres(t testing.TB) *Server {
	t.Helper()
	s, err := StartPostgres()
	return forTest(t, s, err)
}

// StartPostgres starts a PostgreSQL server; the caller stops it.
func StartPostgres() (*Server, error) {
	const install, versions = "postgresql", "/usr/lib/postgresql/*/bin"
	e := &postgres{}
	var err error
	if e.initdb, err = find("initdb", install, versions); err != nil {
		return nil, err
	}
	if e.server, err = find("postgres", install, versions); err != nil {
		return nil, err
	}
	return begin("PostgreSQL", e, "postgres")
}

type postgres struct{ initdb, server string }

// postgresAccess: the administrator connects by the socket, in a directory that others cannot
// enter.
const postgresAccess = `local all postgres trust
hostnossl all ` + Certified + ` all reject
hostssl all ` + Certified + ` all scram-sha-256 clientcert=verify-ca
host all all 127.0.0.1/32 scram-sha-256
`

func (e *postgres) install(p *place) error {
	if err := p.write("hba", []byte(postgresAccess)); err != nil {
		return err
	}
	out, err := p.command(e.initdb, "-D", p.path("data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (e *postgres) serve(p *place, port int32) *exec.Cmd {
	args := []string{"-D", p.path("data"), "-k", p.dir, "-h", "127.0.0.1", "-p", portText(port)}
	for _, setting := range []string{
		"hba_file=" + p.path("hba"), "ssl=on", "ssl_ca_file=" + p.path("ca.crt"), "ssl_cert_file=" + p.path("tls.crt"),
		"ssl_key_file=" + p.path("tls.key"), "password_encryption=scram-sha-256", "fsync=off", "full_page_writes=off",
		"shared_buffers=32MB", "max_connections=40", "log_min_messages=warning",
	} {
		args = append(args, "-c", setting)
	}
	return p.command(e.server, args...)
}

func (e *postgres) connect(p *place, port int32, database string) (*sql.DB, error) {
	if database == "" {
		database = "postgres"
	}
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", p.dir, port, database))
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

func (e *postgres) populate(db *sql.DB) error {
	password := literal(Password, false)
	for _, statement := range []string{
		"CREATE ROLE " + Username + " LOGIN PASSWORD " + password,
		"CREATE ROLE " + Certified + " LOGIN PASSWORD " + password + " IN ROLE " + Username,
		"CREATE DATABASE " + Database + " OWNER " + Username,
	} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

func (e *postgres) stop() syscall.Signal { return syscall.SIGINT }

// crash ends the processes of connections together with the server, which SIGKILL would not
// guarantee.
func (e *postgres) crash() syscall.Signal { return syscall.SIGQUIT }
