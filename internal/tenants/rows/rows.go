// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

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

// The bounds of a reading that names none.
const (
	DefaultRows  = 100_000
	DefaultBytes = 256 << 20
	DefaultTime  = time.Minute
)

// mostColumns is what a query may ask for: PostgreSQL's tables have 1600 columns at most.
const mostColumns = 1600

// Query is what is asked of a source.
type Query struct {
	// Columns are the columns to read. Databases return rows in the order of the first one.
	Columns []string
	// Where are the conditions that rows must meet, all of them.
	Where  []tenantv1.RowCondition
	Limits Limits
}

// Limits bound a reading. What is zero has its default.
type Limits struct {
	Rows  int
	Bytes int64
	Time  time.Duration
}

// Reading is all rows of a source at one moment.
type Reading struct {
	// Rows have every column of the query each; nil is NULL.
	Rows []map[string]*string
	// Deaf is why the source does not tell of changes although it should; empty when it does, or
	// never could.
	Deaf string
}

// Source is a place with rows. Its methods may be called at the same time; readings wait for each
// other.
type Source interface {
	// Read returns all rows or an error, which is an [*Error] and changes nothing: the next reading
	// may succeed.
	Read(ctx context.Context, q Query) (*Reading, error)
	// Changes returns a channel that has something when the rows may have changed, a few times a
	// second at most, and that is closed when the context or the source ends. It is nil when the
	// source cannot tell: then only readings find changes.
	Changes(ctx context.Context) <-chan struct{}
	// Close ends connections, channels and readings. It can be called again.
	Close() error
}

// Secrets are what sources may look up: objects in the namespace of the registry. Errors say which
// one could not be read, and are those of the API, which tell whether it is there.
type Secrets interface {
	Secret(ctx context.Context, name string) (map[string][]byte, error)
	ConfigMap(ctx context.Context, name string) (map[string]string, error)
}

// Options are what the server's administrator decides about sources.
type Options struct {
	// SQLiteDirs are the directories below which SQLite files may be read; there are none by
	// default.
	SQLiteDirs []string
}

// Open returns the source that a registry describes. It connects to nothing yet. The conditions of
// the description are the caller's to put into queries.
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
		Class: Invalid, Doing: "open the source", Why: "spec.source.type is " + quoted(string(spec.Type)) + ", and nothing says where that is",
		Then: "The field of that name in spec.source says it",
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
		return invalid("a query needs one column at least, and has room for 1600")
	}
	for _, column := range columns {
		if column == "" || strings.ContainsRune(column, 0) {
			return invalid("a column has no name, or one that cannot be")
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

// names are all columns that the query is about: those to read, and those of conditions.
func (q Query) names() []string {
	names := slices.Clone(q.Columns)
	for _, condition := range q.Where {
		if !slices.Contains(names, condition.Column) {
			names = append(names, condition.Column)
		}
	}
	return names
}

// longestValue is what one value may have, or what a source has in one piece. Whoever reads it
// makes room for all of it.
const longestValue = 64 << 20

// cellCost is what a value costs beside its text, and a NULL instead of one: rows of NULLs are not
// for nothing.
const cellCost = 48

// collector takes rows within the limits of a reading.
type collector struct {
	columns []string
	limits  Limits
	bytes   int64
	rows    []map[string]*string
}

// add takes one row; the values are those of the columns, in their order, and are not kept.
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

// legible writes bytes that are no text as PostgreSQL does: templates and manifests hold text
// alone.
func legible(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return `\x` + hex.EncodeToString([]byte(text))
}
