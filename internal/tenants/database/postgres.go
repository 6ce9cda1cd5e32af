// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// postgresTable is a table of PostgreSQL, or a compatible server.
type postgresTable struct {
	spec   tenantv1.PostgresSource
	access *access
}

func openPostgres(ctx context.Context, spec *tenantv1.PostgresSource, secrets Secrets) (Source, error) {
	t := &postgresTable{spec: *spec}
	if t.spec.Schema == "" {
		t.spec.Schema = "public"
	}
	if t.spec.Port == 0 {
		t.spec.Port = 5432
	}
	a, err := newAccess(ctx, t.reading(), spec.Host, spec.PasswordRef, spec.TLS, secrets)
	if err != nil {
		return nil, err
	}
	t.access = a
	wire := &meter{}
	config, err := t.config(a)
	if err != nil {
		return nil, err
	}
	config.DialFunc = wire.dial
	d := newDatabase(stdlib.OpenDB(*config), t, wire)
	if spec.Channel != "" {
		// The listener waits for months: it has its own connection, without a reading's limits.
		l := &listener{config: config.Copy(), channel: spec.Channel, wire: &meter{}, explain: t.explain, deaf: &d.life.deaf, quiet: quietTime}
		l.config.DialFunc = l.wire.dial
		d.watch = l.watch
	}
	return d, nil
}

// nothing is a connection string that ignores the server's environment and files. The real settings
// replace it.
const nothing = "host=localhost port=5432 user=nobody password=none dbname=nothing sslmode=disable sslnegotiation=postgres " +
	"target_session_attrs=any connect_timeout=10 passfile=/nonexistent servicefile=/nonexistent"

func (t *postgresTable) config(a *access) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(nothing)
	if err != nil {
		return nil, &Error{
			Class: Invalid, Doing: t.reading(), Why: "variables of the server's environment that begin with PG interfere",
			Then: "Its administrator must remove them",
		}
	}
	config.Host, config.Port = t.spec.Host, uint16(t.spec.Port)
	config.User, config.Password, config.Database = t.spec.Username, a.password, t.spec.Database
	// The default is the encoding of the database.
	config.RuntimeParams = map[string]string{"application_name": "yuba", "client_encoding": "UTF8"}
	config.ConnectTimeout = connectTimeout
	config.TLSConfig, config.Fallbacks = a.tls, nil
	if a.plain {
		config.Fallbacks = []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port}}
	}
	config.KerberosSrvName, config.KerberosSpn = "", ""
	config.ChannelBinding, config.RequireAuth = "prefer", ""
	if a.anybody() {
		config.RequireAuth = "!password"
	}
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		frontend := pgproto3.NewFrontend(r, w)
		frontend.SetMaxBodyLen(longestValue) // a row, at most
		return frontend
	}
	// Connection poolers pass the connection on after a transaction, so do not prepare statements.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return config, nil
}

func (t *postgresTable) reading() string {
	return fmt.Sprintf("read table %s of database %s at %s as %s", quoted(t.spec.Schema+"."+t.spec.Table), quoted(t.spec.Database),
		said(net.JoinHostPort(t.spec.Host, strconv.Itoa(int(t.spec.Port)))), quoted(t.spec.Username))
}

func (t *postgresTable) transaction() *sql.TxOptions { return oneMoment }

// prepare has the server itself end slow statements: closing a connection does not end its
// statement.
func (t *postgresTable) prepare(ctx context.Context, tx *sql.Tx, columns []string, limits Limits) (map[string]string, error) {
	if _, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = "+strconv.FormatInt(max(1, limits.Time.Milliseconds()), 10)); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(columns))
	for _, column := range columns {
		texts[column] = "CAST(" + t.column(column) + " AS text)"
	}
	return texts, nil
}

// from renames the table: a column name that does not exist, but equals the table's name, would
// mean the whole row.
func (t *postgresTable) from() string {
	return t.column(t.spec.Schema) + "." + t.column(t.spec.Table) + ` AS "the rows of yuba"`
}

func (t *postgresTable) column(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// among compares bytes: the collation of the column may match different text.
func (t *postgresTable) among(text string, first, count int) string {
	parameters := make([]string, count)
	for i := range parameters {
		parameters[i] = "$" + strconv.Itoa(first+i)
	}
	return text + ` COLLATE "C" IN (` + strings.Join(parameters, ", ") + ")"
}

func (t *postgresTable) explain(err error) *Error {
	var told *pgconn.PgError
	var claimed *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &told):
		class, then := postgresClass(told.Code)
		return &Error{Class: class, Why: said(t.access.hide(told.Message)), Then: then}
	case strings.Contains(err.Error(), "authentication method requirement"): // the driver has no type for it
		return &Error{
			Class: AccessDenied, Why: "the server requests the password in clear text, which is refused because the server is not authenticated",
			Then: "Set tls.mode to verify-full",
		}
	case errors.As(err, &claimed):
		return &Error{Class: Unreachable, Why: fmt.Sprintf("the response is not that of a database, or has a row of more than %d MiB", longestValue>>20)}
	}
	return unreachable(err)
}

// postgresClass classifies error codes.
func postgresClass(code string) (class Class, then string) {
	switch code {
	case "42501":
		return AccessDenied, "The user needs SELECT on the table, and USAGE on its schema"
	case "42P01", "42703", "3F000", "3D000":
		return NotFound, ""
	case "57014":
		return TooMuch, narrow
	}
	switch {
	case strings.HasPrefix(code, "28"):
		return AccessDenied, "Check user, password and the hosts from which the user may connect (pg_hba.conf)"
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "58"):
		return Unreachable, ""
	}
	return Failed, ""
}
