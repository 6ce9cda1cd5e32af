// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

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
	config.Logger = silence{} // it would quote what came
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, &Error{Class: Invalid, Doing: t.reading(), Why: "the driver does not take what spec.source.mysql says"}
	}
	return newDatabase(sql.OpenDB(connector), t, wire), nil
}

// silence is a log that nobody reads.
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

func (t *mysqlTable) transaction() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}

const mysqlKinds = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"

// prepare has values written as text by the server, so that they do not depend on the protocol: with and without bound
// values it has two. Bits would come as bytes, and bytes would not come at all when they are no text. Columns that the user
// may not see have no kind here; the statement itself then says what is the matter.
func (t *mysqlTable) prepare(ctx context.Context, tx *sql.Tx, columns []string, _ Limits) (map[string]string, error) {
	found, err := tx.QueryContext(ctx, mysqlKinds, t.spec.Database, t.spec.Table)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // found.Err tells
	kinds := map[string]string{}
	for found.Next() {
		var name, kind string
		if err := found.Scan(&name, &kind); err != nil {
			return nil, err
		}
		kinds[strings.ToLower(name)] = strings.ToLower(kind)
	}
	if err := found.Err(); err != nil {
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

// among compares bytes: collations find "pro" in "Pro" and "Prö", and take spaces at the end for nothing.
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
		return &Error{Class: Unreachable, Why: "the server does not encrypt connections", Then: "tls.mode disable does without"}
	case errors.Is(err, mysql.ErrCleartextPassword):
		return &Error{Class: AccessDenied, Why: "the server wants the password in plain text, which is not done"}
	}
	gone := unreachable(err)
	if t.access.plain && strings.Contains(err.Error(), "tls: ") {
		gone.Then = "If its encryption is too old, tls.mode disable does without"
	}
	return gone
}

// mysqlClass sorts the numbers of errors that readings meet, those of both servers.
func mysqlClass(number uint16) (class Class, then string) {
	switch number {
	case 1044, 1045, 1130, 1698, 1862, 3118, 4151:
		return AccessDenied, "User, password and the host that the user may come from have to fit"
	case 1142, 1143, 1227, 1370:
		return AccessDenied, "The user needs SELECT on the table"
	case 3159:
		return AccessDenied, "The server takes encrypted connections only: tls says how"
	case 1049, 1054, 1109, 1146, 1932:
		return NotFound, ""
	case 1317, 1969, 3024:
		return TooMuch, narrow
	case 1040, 1053, 1077, 1079, 1129, 1159, 1161, 1203, 1205, 1213, 1226, 1927:
		return Unreachable, ""
	}
	return Failed, ""
}
