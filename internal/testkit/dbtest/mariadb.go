// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dbtest

import (
	"database/sql"
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MariaDB starts a MariaDB server that ends with the test.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	s, err := StartMariaDB()
	return forTest(t, s, err)
}

// StartMariaDB starts a MariaDB server; the caller stops it.
func StartMariaDB() (*Server, error) {
	const install = "mariadb-server"
	e := &mariadb{}
	var err error
	if e.installer, err = find("mariadb-install-db", install, "/usr/bin", "/usr/sbin"); err != nil {
		return nil, err
	}
	if e.server, err = find("mariadbd", install, "/usr/sbin", "/usr/libexec"); err != nil {
		return nil, err
	}
	return begin("MariaDB", e, "mysql")
}

type mariadb struct{ installer, server string }

func (e *mariadb) install(p *place) error {
	out, err := p.command(e.installer, "--no-defaults", "--datadir="+p.path("data"), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--force").CombinedOutput()
	if err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	return nil
}

func (e *mariadb) serve(p *place, port int32) *exec.Cmd {
	return p.command(e.server, "--no-defaults", "--datadir="+p.path("data"), "--socket="+p.path("s"), "--pid-file="+p.path("pid"),
		"--bind-address=127.0.0.1", "--port="+portText(port), "--skip-name-resolve", "--character-set-server=utf8mb4",
		"--ssl-ca="+p.path("ca.crt"), "--ssl-cert="+p.path("tls.crt"), "--ssl-key="+p.path("tls.key"),
		"--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=2", "--max-connections=40")
}

func (e *mariadb) connect(p *place, _ int32, database string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "unix", p.path("s"), database
	config.Logger = silence{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// silence discards the driver's errors while the server starts.
type silence struct{}

func (silence) Print(...any) {}

func (e *mariadb) populate(db *sql.DB) error {
	for _, statement := range []string{
		// An administrator without a password can only connect by the socket.
		"DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost' OR User = ''",
		"FLUSH PRIVILEGES",
		"CREATE DATABASE " + Database + " CHARACTER SET utf8mb4",
		"CREATE USER " + Username + "@'%' IDENTIFIED BY " + literal(Password, true),
		"GRANT ALL ON " + Database + ".* TO " + Username + "@'%'",
	} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

func (e *mariadb) stop() syscall.Signal { return syscall.SIGTERM }

func (e *mariadb) crash() syscall.Signal { return syscall.SIGKILL }
