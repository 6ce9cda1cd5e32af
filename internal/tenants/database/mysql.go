// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// mysqlTable is a table of MySQL or MariaDB.
type mysqlTable struct {
	spec   tenantv1.MySQLSource
	access *access
}

func openMySQL(ctx context.Context, spec *tenantv1.MySQLSource, secrets Secrets) (Source, error) {
	t := &mysqlTable{spec: *spec}
	a, err := newAccess(ctx, t.reading(), spec.Host, spec.PasswordRef, spec.TLS, secrets)
	if err != nil {
		return nil, err
	}
	t.access = a
	wire := &meter{}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = spec.Username, a.password, spec.Database
	config.Net, config.Addr = "tcp", t.address()
	config.TLS, config.AllowFallbackToPlaintext = a.tls, a.plain
	config.Timeout = connectTimeout
	config.DialFunc = wire.dial
	config.Logger = silence{} // it would quote received data
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, &Error{Class: Invalid, Doing: t.reading(), Why: "the driver rejects spec.source.mysql"}
	}
	return newDatabase(sql.OpenDB(connector), t, wire), nil
}

// silence discards log records.
type silence struct{}

func (silence) Print(...any) {}

func (t *mysqlTable) address() string {
	port := t.spec.Port
	if port == 0 {
		port = 3306
	}
	return net.JoinHostPort(t.spec.Host, strconv.Itoa(int(port)))
}

func (t *mysqlTable) reading() string {
	return fmt.Sprintf("read table %s of database %s at %s as %s", quoted(t.spec.Table), quoted(t.spec.Database), said(t.address()), quoted(t.spec.Username))
}

func (t *mysqlTable) transaction() *sql.TxOptions { return oneMoment }

const mysqlKinds = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"

// prepare lets the server convert values to text, so that they do not depend on the protocol, which
// differs with bound values. Bits would be bytes, and bytes that are not text would fail. Columns
// that the user may not see have no type here; the statement then fails with the reason.
func (t *mysqlTable) prepare(ctx context.Context, tx *sql.Tx, columns []string, _ Limits) (map[string]string, error) {
	kinds, err := columnKinds(ctx, tx, mysqlKinds, t.spec.Database, t.spec.Table)
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(columns))
	for _, column := range columns {
		name := t.column(column)
		switch kinds[strings.ToLower(column)] {
		case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
			texts[column] = name
		case "bit":
			texts[column] = "CAST(" + name + " + 0 AS CHAR CHARACTER SET utf8mb4)"
		default:
			texts[column] = "CAST(" + name + " AS CHAR CHARACTER SET utf8mb4)"
		}
	}
	return texts, nil
}

func (t *mysqlTable) from() string { return t.column(t.spec.Table) }

func (t *mysqlTable) column(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// among compares bytes: collations match "pro" with "Pro" and "Prö", and ignore trailing spaces.
func (t *mysqlTable) among(text string, _, count int) string {
	return "CAST(" + text + " AS BINARY) IN (" + strings.Repeat("CAST(? AS BINARY), ", count-1) + "CAST(? AS BINARY))"
}

func (t *mysqlTable) explain(err error) *Error {
	var told *mysql.MySQLError
	switch {
	case errors.As(err, &told):
		class, then := mysqlClass(told.Number)
		return &Error{Class: class, Why: said(t.access.hide(told.Message)), Then: then}
	case errors.Is(err, mysql.ErrNoTLS):
		return &Error{Class: Unreachable, Why: "the server does not encrypt connections", Then: "Without encryption, set tls.mode to disable"}
	case errors.Is(err, mysql.ErrCleartextPassword):
		return &Error{Class: AccessDenied, Why: "the server requests the password in clear text, which is refused"}
	}
	gone := unreachable(err)
	if t.access.plain && strings.Contains(err.Error(), "tls: ") {
		gone.Then = "If its encryption is too old, set tls.mode to disable"
	}
	return gone
}

// mysqlClass classifies the error numbers of both servers.
func mysqlClass(number uint16) (class Class, then string) {
	switch number {
	case 1044, 1045, 1130, 1698, 1862, 3118, 4151:
		return AccessDenied, "Check user, password and the host from which the user may connect"
	case 1142, 1143, 1227, 1370:
		return AccessDenied, "The user needs SELECT on the table"
	case 3159:
		return AccessDenied, "The server accepts only encrypted connections: set tls"
	case 1049, 1054, 1109, 1146, 1932:
		return NotFound, ""
	case 1317, 1969, 3024:
		return TooMuch, narrow
	case 1040, 1053, 1077, 1079, 1129, 1159, 1161, 1203, 1205, 1213, 1226, 1927:
		return Unreachable, ""
	}
	return Failed, ""
}
