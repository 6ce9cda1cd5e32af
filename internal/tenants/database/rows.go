// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The default limits of a reading.
const (
	DefaultRows  = 100_000
	DefaultBytes = 256 << 20
	DefaultTime  = time.Minute
)

// mostColumns limits the columns of a query: tables of PostgreSQL have at most 1600.
const mostColumns = 1600

// Query is what to read from a source.
type Query struct {
	// Columns are the columns to read. Databases return rows in the order of the first one.
	Columns []string
	// Where are the conditions; rows must meet all of them.
	Where  []tenantv1.RowCondition
	Limits Limits
}

// Limits bound a reading. Zero means the default.
type Limits struct {
	Rows  int
	Bytes int64
	Time  time.Duration
}

// Reading is all rows of a source at one moment.
type Reading struct {
	// Rows have all columns of the query; nil is NULL.
	Rows []map[string]*string
	// Deaf is why the source does not signal changes; empty if it does, or does not support it.
	Deaf string
}

// Source is an origin of rows. Its methods are safe for concurrent use; readings wait for each
// other.
type Source interface {
	// Read returns all rows or an [*Error]. After an error the next reading may succeed.
	Read(ctx context.Context, q Query) (*Reading, error)
	// Changes returns a channel that signals possible changes, a few times a second at most. It is
	// closed with the context or the source, and nil if the source does not support it: then only
	// readings find changes.
	Changes(ctx context.Context) <-chan struct{}
	// Close ends connections, channels and readings. It may be called again.
	Close() error
}

// Secrets gives sources access to objects in the namespace of the registry. Errors name the object
// and wrap that of the API, so that apierrors.IsNotFound works.
type Secrets interface {
	Secret(ctx context.Context, name string) (map[string][]byte, error)
	ConfigMap(ctx context.Context, name string) (map[string]string, error)
}

// Options are decisions of the server's administrator.
type Options struct {
	// SQLiteDirs are the directories in which SQLite files may be read; none by default.
	SQLiteDirs []string
}

// Open returns the source that a registry describes. It does not connect yet. The caller puts the
// conditions of the description into queries.
func Open(ctx context.Context, spec tenantv1.DataSource, secrets Secrets, opts Options) (Source, error) {
	switch {
	case spec.Type == tenantv1.SourceMySQL && spec.MySQL != nil:
		return openMySQL(ctx, spec.MySQL, secrets)
	case spec.Type == tenantv1.SourcePostgres && spec.Postgres != nil:
		return openPostgres(ctx, spec.Postgres, secrets)
	case spec.Type == tenantv1.SourceSQLite && spec.SQLite != nil:
		return openSQLite(spec.SQLite, opts.SQLiteDirs)
	case spec.Type == tenantv1.SourceHTTP && spec.HTTP != nil:
		return openHTTP(ctx, spec.HTTP, secrets)
	case spec.Type == tenantv1.SourceConfigMap && spec.ConfigMap != nil:
		return &configMap{spec: *spec.ConfigMap, secrets: secrets}, nil
	}
	return nil, &Error{
		Class: Invalid, Doing: "open the source", Why: "spec.source.type is " + quoted(string(spec.Type)) + ", but the field with its settings is missing",
		Then: "Set the field of that name in spec.source",
	}
}

// checked returns the query with its defaults, and each column once.
func (q Query) checked(doing string) (Query, error) {
	columns := make([]string, 0, len(q.Columns))
	for _, column := range q.Columns {
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	invalid := func(why string) (Query, error) { return q, &Error{Class: Invalid, Doing: doing, Why: why} }
	if len(columns) == 0 || len(columns) > mostColumns {
		return invalid("a query needs 1 to 1600 columns")
	}
	for _, column := range columns {
		if column == "" || strings.ContainsRune(column, 0) {
			return invalid("a column has an empty or invalid name")
		}
	}
	for _, condition := range q.Where {
		if why := wrong(condition); why != "" {
			return invalid(why)
		}
	}
	q.Columns = columns
	if q.Limits.Rows <= 0 {
		q.Limits.Rows = DefaultRows
	}
	if q.Limits.Bytes <= 0 {
		q.Limits.Bytes = DefaultBytes
	}
	if q.Limits.Time <= 0 {
		q.Limits.Time = DefaultTime
	}
	return q, nil
}

// names are all columns of the query: those to read, and those of conditions.
func (q Query) names() []string {
	names := slices.Clone(q.Columns)
	for _, condition := range q.Where {
		if !slices.Contains(names, condition.Column) {
			names = append(names, condition.Column)
		}
	}
	return names
}

// longestValue limits one value, and other parts of a source that are in memory as a whole.
const longestValue = 64 << 20

// cellCost is the memory for a value besides its text: rows of NULLs are not free.
const cellCost = 48

// collector collects rows within the limits of a reading.
type collector struct {
	columns []string
	limits  Limits
	bytes   int64
	rows    []map[string]*string
}

// add adds one row, with values in the order of the columns. It does not keep the slice.
func (c *collector) add(values []sql.NullString) error {
	if len(c.rows) == c.limits.Rows {
		return tooManyRows(c.limits)
	}
	texts := make([]string, len(c.columns))
	row := make(map[string]*string, len(c.columns))
	c.bytes += int64(len(c.columns)) * cellCost
	for i, column := range c.columns {
		row[column] = nil
		if !values[i].Valid {
			continue
		}
		texts[i] = legible(values[i].String)
		row[column] = &texts[i]
		c.bytes += int64(len(texts[i]))
	}
	if c.bytes > c.limits.Bytes {
		return tooManyBytes(c.limits)
	}
	c.rows = append(c.rows, row)
	return nil
}

func (c *collector) reading() *Reading { return &Reading{Rows: c.rows} }

// legible formats bytes that are not text as PostgreSQL does: templates and manifests need text.
func legible(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return `\x` + hex.EncodeToString([]byte(text))
}
