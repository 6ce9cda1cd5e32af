// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

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

// sqliteFile is a table of a SQLite file. The file may be replaced between readings.
type sqliteFile struct {
	table *sqliteTable
	dirs  []string
	life  *life

	mu sync.Mutex
	// opened reads the file described by info; both are nil until the first reading.
	opened *database
	info   fs.FileInfo
}

func openSQLite(spec *tenantv1.SQLiteSource, dirs []string) (Source, error) {
	t := &sqliteTable{spec: *spec}
	switch {
	case len(dirs) == 0:
		return nil, &Error{
			Class: AccessDenied, Doing: t.reading(), Why: "reading SQLite files from the server's disk is not enabled",
			Then: "The administrator may allow a directory with --sqlite-sources",
		}
	case spec.Path == "" || strings.ContainsRune(spec.Path, 0):
		return nil, &Error{Class: Invalid, Doing: t.reading(), Why: "spec.source.sqlite.path does not name a file"}
	}
	return &sqliteFile{table: t, dirs: dirs, life: newLife()}, nil
}

// located is a file in an allowed directory, with a path without symbolic links.
type located struct {
	path string
	info fs.FileInfo
}

// locate finds the file. It follows no links in allowed directories: the path must mean the same
// file when SQLite opens it, and files elsewhere must not be read.
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
		return nil, &Error{Class: NotFound, Doing: f.table.reading(), Why: "none of the directories in --sqlite-sources exists"}
	}
	if outside {
		return nil, &Error{Class: AccessDenied, Doing: f.table.reading(), Why: "the file is not in a directory that --sqlite-sources allows"}
	}
	return nil, &Error{Class: NotFound, Doing: f.table.reading(), Why: "the file does not exist"}
}

// inside returns the path relative to a directory, and the directory's real path: it may be a link
// itself.
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

// plainFile finds a file without following links.
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
			return nil, fs.ErrNotExist // reveal nothing else about directories
		}
		switch last := i == len(parts)-1; {
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errors.New("the path contains a symbolic link, which is not followed")
		case last && !info.Mode().IsRegular():
			return nil, errors.New("it is not a regular file")
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
	// SQLite opened the file by its path: check that it is the same file.
	if again, err := f.locate(); err != nil || !os.SameFile(f.info, again.info) {
		f.forget()
		return nil, &Error{Class: Unreachable, Doing: f.table.reading(), Why: "the file was replaced while it was read"}
	}
	reading.Deaf = f.life.deafness()
	return reading, nil
}

// address returns the URI of a file: read-only, and without functions that its schema might call.
func address(path string) string {
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)", "trusted_schema(0)", "cell_size_check(1)"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: options.Encode()}).String()
}

// shortValues limits values that a view computes; the default is a gigabyte.
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

// sqliteTable is a table of SQLite.
type sqliteTable struct{ spec tenantv1.SQLiteSource }

func (t *sqliteTable) reading() string {
	return fmt.Sprintf("read table %s of SQLite file %s", quoted(t.spec.Table), quoted(t.spec.Path))
}

// transaction returns no options: all transactions of SQLite see one moment.
func (t *sqliteTable) transaction() *sql.TxOptions { return nil }

// prepare checks the columns, because SQLite has one error code for all invalid statements.
func (t *sqliteTable) prepare(ctx context.Context, tx *sql.Tx, columns []string, _ Limits) (map[string]string, error) {
	known, err := columnKinds(ctx, tx, "SELECT name, '' FROM pragma_table_xinfo(?)", t.spec.Table)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, &Error{Class: NotFound, Why: "the table does not exist"}
	}
	texts := make(map[string]string, len(columns))
	for _, column := range columns {
		if _, there := known[strings.ToLower(column)]; !there {
			return nil, &Error{Class: NotFound, Why: "there is no column " + quoted(column)}
		}
		texts[column] = "CAST(" + t.column(column) + " AS TEXT)"
	}
	return texts, nil
}

func (t *sqliteTable) from() string { return "main." + t.column(t.spec.Table) }

// column uses backticks: SQLite takes an unknown name in double quotes as a string.
func (t *sqliteTable) column(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (t *sqliteTable) among(text string, _, count int) string {
	return "(" + text + " COLLATE BINARY) IN (" + strings.Repeat("?, ", count-1) + "?)"
}

// sqliteLimitLength is the number of the limit for strings and blobs.
const sqliteLimitLength = 0

// Result codes of SQLite.
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
		return &Error{Class: Unreachable, Why: "another program holds the lock to write to it"}
	case sqliteIOErr:
		return &Error{Class: Unreachable, Why: "an I/O error occurred on the disk"}
	case sqliteReadOnly:
		return &Error{
			Class: Unreachable, Why: "a write was interrupted, or its write-ahead log cannot be shared",
			Then: "Open it again with the program that writes to it, and let the server write to its directory",
		}
	case sqlitePerm, sqliteAuth, sqliteCantOpen:
		return &Error{Class: AccessDenied, Why: "the server may not open it", Then: "It needs to read the file and, for a write-ahead log, to write to its directory"}
	case sqliteTooBig:
		return &Error{Class: TooMuch, Why: fmt.Sprintf("a value has more than %d MiB", longestValue>>20)}
	case sqliteNotADB:
		return &Error{Class: Invalid, Why: "it is not a SQLite database, or is encrypted"}
	}
	return &Error{Class: Failed, Why: said(told.Error())}
}
