// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// writer opens a SQLite file for writing.
func writer(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	write(t, db, statements...)
	return db
}

func write(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// file opens a source for a table of a file.
func file(t *testing.T, path, table string) Source {
	t.Helper()
	return mustOpen(t, sqliteSpec(path, table), things{}, Options{SQLiteDirs: []string{filepath.Dir(path)}})
}

func sqliteSpec(path, table string) tenantv1.DataSource {
	return tenantv1.DataSource{Type: tenantv1.SourceSQLite, SQLite: &tenantv1.SQLiteSource{Path: path, Table: table}}
}

func TestValuesOfSQLiteAreTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all of ?#% it.db")
	writer(t, path,
		"CREATE TABLE \"we`ird \"\"table\"(id TEXT, \"is \"\"active\"\" `now`\" BOOLEAN, n INTEGER, price REAL, made DATETIME, raw BLOB, \"nothing\" TEXT)",
		"INSERT INTO \"we`ird \"\"table\" VALUES ('b', 1, 9007199254740993, 1.5, '2026-01-02 03:04:05', x'ff00', NULL)",
		"INSERT INTO \"we`ird \"\"table\" VALUES ('a ü', 0, -1, 2, 1700000000, x'616263', '')")
	got := mustRead(t, file(t, path, "we`ird \"table"), Query{Columns: []string{"id", "is \"active\" `now`", "n", "price", "made", "raw", "nothing"}})
	want := []map[string]string{
		{"id": "a ü", "is \"active\" `now`": "0", "n": "-1", "price": "2.0", "made": "1700000000", "raw": "abc", "nothing": ""},
		{"id": "b", "is \"active\" `now`": "1", "n": "9007199254740993", "price": "1.5", "made": "2026-01-02 03:04:05", "raw": `\xff00`, "nothing": null},
	}
	if diff := cmp.Diff(want, plain(got)); diff != "" {
		t.Error(diff)
	}
}

func TestConditionsOfSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.db")
	writer(t, path, "CREATE TABLE tenants(id TEXT, plan TEXT COLLATE NOCASE, n INTEGER)",
		"INSERT INTO tenants VALUES ('a', 'pro', 1), ('b', 'Pro', 2), ('c', NULL, 3), ('d', 'free''; --', NULL), ('e', '', 10)")
	source := file(t, path, "tenants")
	for sentence, test := range map[string]struct {
		where []tenantv1.RowCondition
		want  []string
	}{
		"none":                     {nil, []string{"a", "b", "c", "d", "e"}},
		"letter by letter":         {[]tenantv1.RowCondition{{Column: "plan", Operator: in, Values: []string{"pro"}}}, []string{"a"}},
		"several values":           {[]tenantv1.RowCondition{{Column: "plan", Operator: in, Values: []string{"pro", "free'; --"}}}, []string{"a", "d"}},
		"numbers as texts":         {[]tenantv1.RowCondition{{Column: "n", Operator: in, Values: []string{"10", "02", "1.0"}}}, []string{"e"}},
		"none of the values":       {[]tenantv1.RowCondition{{Column: "plan", Operator: notIn, Values: []string{"pro", ""}}}, []string{"b", "c", "d"}},
		"there":                    {[]tenantv1.RowCondition{{Column: "plan", Operator: exists}}, []string{"a", "b", "d", "e"}},
		"missing":                  {[]tenantv1.RowCondition{{Column: "plan", Operator: doesNotExist}}, []string{"c"}},
		"all conditions must hold": {[]tenantv1.RowCondition{{Column: "plan", Operator: exists}, {Column: "n", Operator: doesNotExist}}, []string{"d"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := column(mustRead(t, source, Query{Columns: []string{"id"}, Where: test.where}), "id")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatSQLiteDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tenants.db")
	writer(t, path, "CREATE TABLE tenants(id TEXT)", "CREATE VIEW active AS SELECT id FROM tenants", "INSERT INTO tenants VALUES ('a')")
	if err := os.WriteFile(filepath.Join(dir, "no.db"), []byte(strings.Repeat("this is a text ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		path, table string
		query       Query
		class       Class
		want        string
	}{
		"no table":                 {path, "tenant", Query{Columns: []string{"id"}}, NotFound, "the table does not exist"},
		"no column":                {path, "tenants", Query{Columns: []string{"id", "uid"}}, NotFound, `no column "uid"`},
		"no column of a condition": {path, "tenants", Query{Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "plan", Operator: exists}}}, NotFound, `no column "plan"`},
		"no file":                  {filepath.Join(dir, "gone.db"), "tenants", Query{Columns: []string{"id"}}, NotFound, "the file does not exist"},
		"no database":              {filepath.Join(dir, "no.db"), "tenants", Query{Columns: []string{"id"}}, Invalid, "not a SQLite database"},
		"a directory":              {dir + "/sub", "tenants", Query{Columns: []string{"id"}}, AccessDenied, "not a regular file"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if strings.HasSuffix(test.path, "/sub") {
				if err := os.Mkdir(test.path, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			_, err := file(t, test.path, test.table).Read(context.Background(), test.query)
			wantError(t, err, test.class, test.want)
		})
	}
	if got := column(mustRead(t, file(t, path, "active"), Query{Columns: []string{"ID"}}), "ID"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a view has %v", got)
	}
}

func TestWhichFilesAreRead(t *testing.T) {
	base := t.TempDir()
	allowed, other := filepath.Join(base, "allowed"), filepath.Join(base, "other")
	for _, dir := range []string{filepath.Join(allowed, "team"), other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writer(t, filepath.Join(dir, "t.db"), "CREATE TABLE t(id TEXT)")
	}
	for link, to := range map[string]string{
		filepath.Join(allowed, "out.db"): filepath.Join(other, "t.db"), filepath.Join(allowed, "out"): other,
		filepath.Join(allowed, "in.db"): filepath.Join(allowed, "team", "t.db"), filepath.Join(base, "way"): allowed,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string, dirs ...string) error {
		source, err := Open(context.Background(), sqliteSpec(path, "t"), things{}, Options{SQLiteDirs: dirs})
		if err != nil {
			return err
		}
		defer source.Close()
		_, err = source.Read(context.Background(), Query{Columns: []string{"id"}})
		return err
	}
	for sentence, test := range map[string]struct{ path, dir string }{
		"below the directory":                  {filepath.Join(allowed, "team", "t.db"), allowed},
		"by a path from there":                 {"team/t.db", allowed},
		"the administrator's directory a link": {filepath.Join(base, "way", "team", "t.db"), filepath.Join(base, "way")},
		"... and by its other name":            {filepath.Join(allowed, "team", "t.db"), filepath.Join(base, "way")},
		"dots that stay inside":                {filepath.Join(allowed) + "/../allowed/team/t.db", allowed},
	} {
		if err := read(test.path, test.dir); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
		if err := read(test.path, filepath.Join(base, "nowhere"), test.dir); err != nil {
			t.Errorf("%s, in the second directory: %v", sentence, err)
		}
	}
	for sentence, test := range map[string]struct{ path, want string }{
		"outside":             {filepath.Join(other, "t.db"), "--sqlite-sources"},
		"outside, by dots":    {allowed + "/../other/t.db", "--sqlite-sources"},
		"outside, from there": {"../other/t.db", "--sqlite-sources"},
		"not there, outside":  {filepath.Join(base, "gone", "t.db"), "--sqlite-sources"},
		"the directory":       {allowed, "--sqlite-sources"},
		"a link out":          {filepath.Join(allowed, "out.db"), "contains a symbolic link"},
		"a directory out":     {filepath.Join(allowed, "out", "t.db"), "contains a symbolic link"},
		"a link inside":       {filepath.Join(allowed, "in.db"), "contains a symbolic link"},
	} {
		t.Run(sentence, func(t *testing.T) { wantError(t, read(test.path, allowed), AccessDenied, test.want) })
	}
	wantError(t, read(filepath.Join(allowed, "team", "t.db")), AccessDenied, "--sqlite-sources")
	wantError(t, read("t.db", filepath.Join(base, "nowhere"), filepath.Join(base, "later")), NotFound, "none of the directories")
}

// A reading sees one moment, and writes nothing but SQLite's files for readers.
func TestReadingsOfSQLiteDoNotWrite(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tenants.db")
			db := writer(t, path, "PRAGMA journal_mode = "+mode, "CREATE TABLE tenants(id TEXT)", "INSERT INTO tenants VALUES ('a')")
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			source := file(t, path, "tenants")
			for range 3 {
				if got := column(mustRead(t, source, Query{Columns: []string{"id"}}), "id"); !slices.Equal(got, []string{"a"}) {
					t.Fatalf("%v", got)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !slices.Equal(before, after) {
				t.Errorf("the file has changed, or %v", err)
			}
			// An open transaction of a writer does not block readings, and is invisible.
			write(t, db, "BEGIN IMMEDIATE", "INSERT INTO tenants VALUES ('b')")
			if got := column(mustRead(t, source, Query{Columns: []string{"id"}}), "id"); !slices.Equal(got, []string{"a"}) {
				t.Errorf("in the middle of a write there are %v", got)
			}
			write(t, db, "COMMIT")
			if got := column(mustRead(t, source, Query{Columns: []string{"id"}}), "id"); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("after the write there are %v", got)
			}
		})
	}
}

func TestAFileThatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tenants.db")
	writer(t, path, "CREATE TABLE tenants(id TEXT)", "INSERT INTO tenants VALUES ('old')").Close()
	source := file(t, path, "tenants")
	if got := column(mustRead(t, source, Query{Columns: []string{"id"}}), "id"); !slices.Equal(got, []string{"old"}) {
		t.Fatalf("%v", got)
	}
	writer(t, path+".new", "CREATE TABLE tenants(id TEXT)", "INSERT INTO tenants VALUES ('new')").Close()
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if got := column(mustRead(t, source, Query{Columns: []string{"id"}}), "id"); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the new file has %v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := source.Read(context.Background(), Query{Columns: []string{"id"}})
	wantError(t, err, NotFound, "the file does not exist")
}

func TestHowManyRowsThereMayBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.db")
	db := writer(t, path, "CREATE TABLE tenants(id TEXT, url TEXT)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO tenants SELECT 'tenant-' || i, 'https://t' || i || '.example' FROM n")
	source := file(t, path, "tenants")
	query := Query{Columns: []string{"id", "url"}}
	if got := mustRead(t, source, query); len(got.Rows) != 100_000 {
		t.Errorf("%d rows", len(got.Rows))
	}
	_, err := source.Read(context.Background(), Query{Columns: query.Columns, Limits: Limits{Bytes: 1 << 20}})
	wantError(t, err, TooMuch, "1 MiB", "spec.source.where")
	write(t, db, "INSERT INTO tenants VALUES ('one more', '')")
	_, err = source.Read(context.Background(), query)
	wantError(t, err, TooMuch, "more than 100000 rows", "spec.source.where")
	if got := mustRead(t, source, Query{Columns: query.Columns, Where: []tenantv1.RowCondition{{Column: "url", Operator: notIn, Values: []string{""}}}}); len(got.Rows) != 100_000 {
		t.Errorf("without that one there are %d rows", len(got.Rows))
	}
}

func TestSQLiteTellsOfChanges(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tenants.db")
			db := writer(t, path, "PRAGMA journal_mode = "+mode, "CREATE TABLE tenants(id TEXT)")
			source := file(t, path, "tenants")
			changes := source.Changes(t.Context())
			for n := range 3 {
				write(t, db, fmt.Sprintf("INSERT INTO tenants VALUES ('%d')", n))
				for deadline := time.After(time.Minute); ; {
					select {
					case <-changes:
					case <-deadline:
						t.Fatal("no signal for a row")
					}
					if len(mustRead(t, source, Query{Columns: []string{"id"}}).Rows) == n+1 {
						break
					}
				}
			}
			source.Close()
			for range changes { //nolint:revive // it ends
			}
		})
	}
}

// A registry that is older than its database notices when that is created.
func TestADirectoryThatIsMadeLater(t *testing.T) {
	base := t.TempDir()
	source := mustOpen(t, sqliteSpec("shop/tenants.db", "tenants"), things{}, Options{SQLiteDirs: []string{base}})
	changes := source.Changes(t.Context())
	for deadline := time.Now().Add(time.Minute); !strings.Contains(deafness(source), "cannot be watched"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a missing watch is reported as %q", deafness(source))
		}
	}
	if err := os.Mkdir(filepath.Join(base, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	writer(t, filepath.Join(base, "shop", "tenants.db"), "CREATE TABLE tenants(id TEXT)", "INSERT INTO tenants VALUES ('a')").Close()
	for deadline := time.After(time.Minute); ; {
		select {
		case <-changes:
		case <-deadline:
			t.Fatal("no signal for the file")
		}
		if got, err := source.Read(context.Background(), Query{Columns: []string{"id"}}); err == nil && len(got.Rows) == 1 {
			if got.Deaf != "" {
				t.Errorf("it signals changes, but reports %q", got.Deaf)
			}
			return
		}
	}
}

// deafness is what the next reading reports about a source.
func deafness(source Source) string {
	switch s := source.(type) {
	case *sqliteFile:
		return s.life.deafness()
	case *database:
		return s.life.deafness()
	}
	return "no source that could hear"
}

// A reading that caused a signal would cause the next one forever.
func TestReadingsOfSQLiteAreNoChanges(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "tenants.db")
			writer(t, path, "PRAGMA journal_mode = "+mode, "CREATE TABLE tenants(id TEXT)").Close()
			watcher, err := fsnotify.NewWatcher()
			if err != nil {
				t.Fatal(err)
			}
			defer watcher.Close()
			if err := watcher.Add(dir); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				source := file(t, path, "tenants")
				mustRead(t, source, Query{Columns: []string{"id"}})
				mustRead(t, source, Query{Columns: []string{"id"}})
				source.Close()
			}
			// Signals of the readings come before this one.
			if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for deadline := time.After(time.Minute); ; {
				select {
				case event := <-watcher.Events:
					if filepath.Base(event.Name) == "end" {
						return
					}
					if wrote("tenants.db", event) {
						t.Errorf("a reading looks like a change: %s", event)
					}
				case <-deadline:
					t.Fatal("the watcher sends nothing")
				}
			}
		})
	}
}
