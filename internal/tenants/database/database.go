// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"strings"
	"sync"
	"time"
)

// connectTimeout limits connecting to a server.
const connectTimeout = 10 * time.Second

// idleTime is how long an unused connection is kept: longer than usual intervals.
const idleTime = 10 * time.Minute

// table is a table of a database, with the specifics of its engine.
type table interface {
	// reading describes what is attempted, for errors.
	reading() string
	// transaction are the options of a reading's transaction; nil for the engine's default.
	transaction() *sql.TxOptions
	// prepare prepares the transaction and returns, for each column, the expression for its value
	// as text.
	prepare(ctx context.Context, tx *sql.Tx, columns []string, limits Limits) (map[string]string, error)
	// from returns the quoted table, and column a quoted column.
	from() string
	column(name string) string
	// among returns a condition that a text equals, byte by byte, one of count values: parameters
	// from first on.
	among(text string, first, count int) string
	// explain returns the class of a driver's error, and the reason for users.
	explain(err error) *Error
}

// oneMoment are the options of a transaction that sees one moment, and writes nothing.
var oneMoment = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}

// columnKinds runs a query for names and types of columns, and returns the types by name, both in
// lower case.
func columnKinds(ctx context.Context, tx *sql.Tx, query string, values ...any) (map[string]string, error) {
	found, err := tx.QueryContext(ctx, query, values...)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // found.Err returns it
	kinds := map[string]string{}
	for found.Next() {
		var name, kind string
		if err := found.Scan(&name, &kind); err != nil {
			return nil, err
		}
		kinds[strings.ToLower(name)] = strings.ToLower(kind)
	}
	return kinds, found.Err()
}

// statement returns the statement that reads all rows, and one more than the limit to detect too
// many.
func statement(t table, q Query, texts map[string]string) (string, []any) {
	var s strings.Builder
	var values []any
	for i, column := range q.Columns {
		s.WriteString(between(i, "SELECT ", ", "))
		s.WriteString(texts[column])
	}
	s.WriteString(" FROM ")
	s.WriteString(t.from())
	for i, c := range q.Where {
		s.WriteString(between(i, " WHERE ", " AND "))
		column := t.column(c.Column)
		among := ""
		if len(c.Values) > 0 {
			among = t.among(texts[c.Column], len(values)+1, len(c.Values))
		}
		switch c.Operator {
		case exists:
			s.WriteString(column + " IS NOT NULL")
		case doesNotExist:
			s.WriteString(column + " IS NULL")
		case in:
			s.WriteString(among)
		case notIn:
			s.WriteString("(" + column + " IS NULL OR NOT (" + among + "))")
		}
		for _, value := range c.Values {
			values = append(values, value)
		}
	}
	s.WriteString(" ORDER BY 1 LIMIT " + strconv.Itoa(q.Limits.Rows+1))
	return s.String(), values
}

// between returns the separator before an item of a list.
func between(i int, first, others string) string {
	if i == 0 {
		return first
	}
	return others
}

// database is a table that is read through database/sql.
type database struct {
	db    *sql.DB
	table table
	// wire counts what connections receive; nil for a file.
	wire *meter
	// bound limits a new connection; nil for none.
	bound func(conn *sql.Conn) error
	// watch signals when rows may have changed, until its context ends; nil if the engine does not
	// support it.
	watch func(ctx context.Context, changed chan<- struct{})

	one  sync.Mutex // one reading at a time, because they share the meter
	life *life
}

func newDatabase(db *sql.DB, t table, wire *meter) *database {
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(idleTime)
	return &database{db: db, table: t, wire: wire, life: newLife()}
}

func (d *database) Changes(ctx context.Context) <-chan struct{} {
	if d.watch == nil {
		return nil
	}
	return d.life.watch(ctx, d.watch)
}

func (d *database) Close() error {
	d.life.end()
	return d.db.Close()
}

func (d *database) Read(ctx context.Context, q Query) (*Reading, error) {
	doing := d.table.reading()
	q, err := q.checked(doing)
	if err != nil {
		return nil, err
	}
	d.one.Lock()
	defer d.one.Unlock()
	living, end := d.life.bind(ctx)
	defer end()
	own, cancel := context.WithTimeout(living, q.Limits.Time)
	defer cancel()
	if d.wire != nil {
		d.wire.allow(q.Limits)
		defer d.wire.hangUpAfter(own)()
	}
	reading, err := d.read(own, q)
	if err == nil {
		reading.Deaf = d.life.deafness()
		return reading, nil
	}
	// Drivers hide why a connection ended.
	if d.wire != nil && d.wire.spent() {
		err = tooManyBytes(q.Limits)
	}
	return nil, finish(living, own, err, doing, q.Limits, d.table.explain)
}

func (d *database) read(ctx context.Context, q Query) (*Reading, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer d.release(conn)
	if d.bound != nil {
		if err := d.bound(conn); err != nil {
			return nil, err
		}
	}
	tx, err := conn.BeginTx(ctx, d.table.transaction())
	if err != nil {
		return nil, err
	}
	// Nothing was written, so there is nothing to commit.
	defer tx.Rollback() //nolint:errcheck // a connection that cannot even do this is not used again
	texts, err := d.table.prepare(ctx, tx, q.names(), q.Limits)
	if err != nil {
		return nil, err
	}
	query, values := statement(d.table, q, texts)
	return collect(ctx, tx, q, query, values)
}

// release returns a connection to the pool, or closes it.
func (d *database) release(conn *sql.Conn) {
	if d.wire != nil && d.wire.worn() {
		conn.Raw(func(any) error { return driver.ErrBadConn }) //nolint:errcheck // that is what it is for
	}
	conn.Close() //nolint:errcheck // nothing was written
}

// connect reuses the previous connection, or opens one.
func (d *database) connect(ctx context.Context) (*sql.Conn, error) {
	soon, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := d.db.Conn(soon)
	if err != nil && ctx.Err() == nil && soon.Err() != nil {
		return nil, &Error{Class: Unreachable, Why: "no response in time"}
	}
	return conn, err
}

// collect reads the rows of a statement.
func collect(ctx context.Context, tx *sql.Tx, q Query, query string, values []any) (_ *Reading, err error) {
	// After an error, do not wait for further rows.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	rows, err := tx.QueryContext(ctx, query, values...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			stop()
		}
		rows.Close() //nolint:errcheck // rows.Err returned it
	}()
	c := &collector{columns: q.Columns, limits: q.Limits}
	found := make([]sql.NullString, len(q.Columns))
	targets := make([]any, len(found))
	for i := range found {
		targets[i] = &found[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if err := c.add(found); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return c.reading(), nil
}
