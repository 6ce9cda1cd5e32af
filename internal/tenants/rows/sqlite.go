// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"modernc.org/sqlite"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// sqliteFile is a table of a SQLite file. The file may be replaced by another one between readings.
type sqliteFile struct {
	table *sqliteTable
	dirs  []string
	life  *life

	mu sync.Mutex
	// opened reads the file that info is of; both are nil until the first reading.
	opened *database
	info   fs.FileInfo
}

func openSQLite(spec *tenantv1.SQLiteSource, dirs []string) (Source, error) {
	t := &sqliteTable{spec: *spec}
	switch {
	case len(dirs) == 0:
		return nil, &Error{
			Class: AccessDenied, Doing: t.reading(), Why: "SQLite files on the server's disk are not read",
			Then: "Its administrator may allow a directory with --sqlite-sources",
		}
	case spec.Path == "" || strings.ContainsRune(spec.Path, 0):
		return nil, &Error{Class: Invalid, Doing: t.reading(), Why: "spec.source.sqlite.path names no file"}
	}
	return &sqliteFile{table: t, dirs: dirs, life: newLife()}, nil
}

// located is the file as it was found: below a directory that is allowed, by a path without links.
type located struct {
	path string
	info fs.FileInfo
}

// locate looks where the file is. No link is followed below a directory that is allowed: what a
// path means must not change between this look and SQLite's own, and what lies elsewhere is
// nobody's to read.
func (f *sqliteFile) locate() (*located, error) {
	outside, nowhere := true, true
	for _, dir := range f.dirs {
		rel, real, err := inside(dir, f.table.spec.Path)
		nowhere = nowhere && errors.Is(err, fs.ErrNotExist)
		if err != nil {
			continue
		}
		outside = false
		found, err := plainFile(real, rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &Error{Class: AccessDenied, Doing: f.table.reading(), Why: err.Error()}
		}
		return found, nil
	}
	if nowhere {
		return nil, &Error{Class: NotFound, Doing: f.table.reading(), Why: "none of the directories that --sqlite-sources allows is there"}
	}
	if outside {
		return nil, &Error{Class: AccessDenied, Doing: f.table.reading(), Why: "it is not below the directories that --sqlite-sources allows"}
	}
	return nil, &Error{Class: NotFound, Doing: f.table.reading(), Why: "there is no such file"}
}

// inside returns the path below a directory, and where the directory is. The administrator's
// directory may be a link itself.
func inside(dir, path string) (rel, real string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	if real, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	for _, base := range []string{dir, real} {
		if rel, err := filepath.Rel(base, path); err == nil && rel != "." && filepath.IsLocal(rel) {
			return rel, real, nil
		}
	}
	return "", "", fs.ErrPermission
}

// plainFile finds a file that no link leads to.
func plainFile(dir, rel string) (*located, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	defer root.Close() //nolint:errcheck // only read
	var info fs.FileInfo
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		if info, err = root.Lstat(filepath.Join(parts[:i+1]...)); err != nil {
			return nil, fs.ErrNotExist // what else it may be is nothing to tell about directories in between
		}
		switch last := i == len(parts)-1; {
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errors.New("a link leads there, and links are not followed")
		case last && !info.Mode().IsRegular():
			return nil, errors.New("it is no file")
		case !last && !info.IsDir():
			return nil, fs.ErrNotExist
		}
	}
	return &located{path: filepath.Join(dir, rel), info: info}, nil
}

func (f *sqliteFile) Read(ctx context.Context, q Query) (*Reading, error) {
	ctx, end := f.life.bind(ctx)
	defer end()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life.ctx.Err() != nil {
		return nil, &Error{Class: Failed, Doing: f.table.reading(), Why: "it was cancelled", cause: context.Canceled}
	}
	found, err := f.locate()
	if err != nil {
		f.forget()
		return nil, err
	}
	if f.opened != nil && !os.SameFile(f.info, found.info) {
		f.forget()
	}
	if f.opened == nil {
		db, err := sql.Open("sqlite", address(found.path))
		if err != nil {
			return nil, &Error{Class: Failed, Doing: f.table.reading(), Why: said(err.Error())}
		}
		f.opened, f.info = newDatabase(db, f.table, nil), found.info
		f.opened.bound = shortValues
	}
	reading, err := f.opened.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	// SQLite opened the file by its path: it has to be the one that was looked at.
	if again, err := f.locate(); err != nil || !os.SameFile(f.info, again.info) {
		f.forget()
		return nil, &Error{Class: Unreachable, Doing: f.table.reading(), Why: "the file was replaced while it was read"}
	}
	reading.Deaf = f.life.deafness()
	return reading, nil
}

// address is how SQLite is told to open a file: for reading, and nothing of what a file's schema
// may do but that.
func address(path string) string {
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)", "trusted_schema(0)", "cell_size_check(1)"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: options.Encode()}).String()
}

// shortValues bounds what a view can make of nothing: a value has room for a gigabyte otherwise.
func shortValues(conn *sql.Conn) error {
	_, err := sqlite.Limit(conn, sqliteLimitLength, longestValue)
	return err
}

func (f *sqliteFile) forget() {
	if f.opened != nil {
		f.opened.Close() //nolint:errcheck // it was only read
		f.opened, f.info = nil, nil
	}
}

func (f *sqliteFile) Close() error {
	f.life.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget()
	return nil
}

// sqliteTable is how SQLite is asked.
type sqliteTable struct{ spec tenantv1.SQLiteSource }

func (t *sqliteTable) reading() string {
	return fmt.Sprintf("read table %s of SQLite file %s", quoted(t.spec.Table), quoted(t.spec.Path))
}

// transaction: SQLite has one kind of reading, which sees one moment.
func (t *sqliteTable) transaction() *sql.TxOptions { return nil }

// prepare looks for the columns: SQLite has one code for all that can be wrong with a statement.
func (t *sqliteTable) prepare(ctx context.Context, tx *sql.Tx, columns []string, _ Limits) (map[string]string, error) {
	found, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_xinfo(?)", t.spec.Table)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // found.Err tells
	known := map[string]bool{}
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		known[strings.ToLower(name)] = true
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, &Error{Class: NotFound, Why: "there is no such table"}
	}
	texts := make(map[string]string, len(columns))
	for _, column := range columns {
		if !known[strings.ToLower(column)] {
			return nil, &Error{Class: NotFound, Why: "there is no column " + quoted(column)}
		}
		texts[column] = "CAST(" + t.column(column) + " AS TEXT)"
	}
	return texts, nil
}

func (t *sqliteTable) from() string { return "main." + t.column(t.spec.Table) }

// column uses backticks: what stands in double quotes and is no column, SQLite takes for a text.
func (t *sqliteTable) column(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (t *sqliteTable) among(text string, _, count int) string {
	return "(" + text + " COLLATE BINARY) IN (" + strings.Repeat("?, ", count-1) + "?)"
}

// sqliteLimitLength is the limit of texts and blobs, by its number.
const sqliteLimitLength = 0

// The codes of SQLite that readings meet.
const (
	sqlitePerm     = 3
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCantOpen = 14
	sqliteTooBig   = 18
	sqliteAuth     = 23
	sqliteNotADB   = 26
)

func (t *sqliteTable) explain(err error) *Error {
	var told *sqlite.Error
	if !errors.As(err, &told) {
		return &Error{Class: Failed, Why: said(err.Error())}
	}
	switch told.Code() & 0xff {
	case sqliteBusy, sqliteLocked:
		return &Error{Class: Unreachable, Why: "somebody is writing to it and holds the lock"}
	case sqliteIOErr:
		return &Error{Class: Unreachable, Why: "the disk does not give it out"}
	case sqliteReadOnly:
		return &Error{
			Class: Unreachable, Why: "it was left in the middle of a write, or its write-ahead log cannot be shared",
			Then: "Whoever writes to it has to open it once more, and the server needs to be able to write beside it",
		}
	case sqlitePerm, sqliteAuth, sqliteCantOpen:
		return &Error{Class: AccessDenied, Why: "the server may not open it", Then: "It needs to read the file, and with a write-ahead log to write beside it"}
	case sqliteTooBig:
		return &Error{Class: TooMuch, Why: fmt.Sprintf("a value has more than %d MiB", longestValue>>20)}
	case sqliteNotADB:
		return &Error{Class: Invalid, Why: "it is no SQLite database, or an encrypted one"}
	}
	return &Error{Class: Failed, Why: said(told.Error())}
}
