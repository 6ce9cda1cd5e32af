// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/testkit/dbtest"
)

func TestValuesOfMariaDBAreTexts(t *testing.T) {
	s := mariadb(t)
	s.table(t, "kinds", "id VARCHAR(20), b BOOLEAN, tiny TINYINT(1), bits BIT(4), big BIGINT UNSIGNED, price DECIMAL(10,2), f DOUBLE, made DATETIME,"+
		" raw VARBINARY(20), letters ENUM('x','y'), doc JSON, nothing TEXT, old VARCHAR(20) CHARACTER SET latin1",
		`('b', TRUE, 2, b'1010', 18446744073709551615, 1.50, 0.1, '2026-01-02 03:04:05', x'ff00', 'y', '{"a": 1}', NULL, 'ü')`,
		`('a', FALSE, NULL, b'1', 0, -1, 2, NULL, 'abc', 'x', NULL, '', NULL)`)
	query := database.Query{Columns: []string{"id", "b", "tiny", "bits", "big", "price", "f", "made", "raw", "letters", "doc", "nothing", "old"}}
	want := []map[string]string{
		{
			"id": "a", "b": "0", "tiny": null, "bits": "1", "big": "0", "price": "-1.00", "f": "2", "made": null, "raw": "abc", "letters": "x",
			"doc": null, "nothing": "", "old": null,
		},
		{
			"id": "b", "b": "1", "tiny": "2", "bits": "10", "big": "18446744073709551615", "price": "1.50", "f": "0.1",
			"made": "2026-01-02 03:04:05", "raw": `\xff00`, "letters": "y", "doc": `{"a": 1}`, "nothing": null, "old": "ü",
		},
	}
	source := s.open(t, "kinds", place{})
	if diff := cmp.Diff(want, plain(read(t, source, query))); diff != "" {
		t.Error(diff)
	}
	// With values that are bound the protocol is another one, and the texts are the same.
	query.Where = []tenantv1.RowCondition{{Column: "id", Operator: "In", Values: []string{"a", "b"}}, {Column: "bits", Operator: "In", Values: []string{"1", "10"}}}
	if diff := cmp.Diff(want, plain(read(t, source, query))); diff != "" {
		t.Error(diff)
	}
}

func TestValuesOfPostgreSQLAreTexts(t *testing.T) {
	s := postgres(t)
	s.table(t, "kinds", "id text, b boolean, n bigint, price numeric(10,2), f double precision, made timestamp, raw bytea, u uuid, doc jsonb, list text[], nothing text",
		`('b', TRUE, 9223372036854775807, 1.5, 0.1, '2026-01-02 03:04:05', '\xff00', '0190b7a4-0000-7000-8000-000000000000', '{"a":1}', '{x,"y z"}', NULL)`,
		`('a', FALSE, NULL, -1, 2, NULL, 'abc', NULL, NULL, NULL, '')`)
	query := database.Query{Columns: []string{"id", "b", "n", "price", "f", "made", "raw", "u", "doc", "list", "nothing"}}
	want := []map[string]string{
		{
			"id": "a", "b": "false", "n": null, "price": "-1.00", "f": "2", "made": null, "raw": `\x616263`, "u": null, "doc": null, "list": null,
			"nothing": "",
		},
		{
			"id": "b", "b": "true", "n": "9223372036854775807", "price": "1.50", "f": "0.1", "made": "2026-01-02 03:04:05", "raw": `\xff00`,
			"u": "0190b7a4-0000-7000-8000-000000000000", "doc": `{"a": 1}`, "list": `{x,"y z"}`, "nothing": null,
		},
	}
	source := s.open(t, "kinds", place{})
	if diff := cmp.Diff(want, plain(read(t, source, query))); diff != "" {
		t.Error(diff)
	}
	query.Where = []tenantv1.RowCondition{{Column: "id", Operator: "In", Values: []string{"a", "b"}}, {Column: "f", Operator: "In", Values: []string{"2", "0.1"}}}
	if diff := cmp.Diff(want, plain(read(t, source, query))); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreQuoted(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		const table, active = "te`na\"nts'; DROP TABLE x; --", "is `\"active\"`"
		s.table(t, table, s.name("select")+" VARCHAR(20), "+s.name(active)+" VARCHAR(20), "+s.name("Größe")+" VARCHAR(20)", "('a', 'yes', 'XL')")
		got := read(t, s.open(t, table, place{}), database.Query{
			Columns: []string{"select", active, "Größe"}, Where: []tenantv1.RowCondition{{Column: active, Operator: "NotIn", Values: []string{"'; --"}}},
		})
		if diff := cmp.Diff([]map[string]string{{"select": "a", active: "yes", "Größe": "XL"}}, plain(got)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestConditionsCompareTexts(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "plans", "id VARCHAR(20), plan VARCHAR(20), n INT",
			"('a', 'pro', 1)", "('b', 'Pro', 0)", "('c', NULL, 3)", "('d', 'pro ', NULL)", "('e', '', 10)", "('f', 'prö', 5)")
		source := s.open(t, "plans", place{})
		for sentence, test := range map[string]struct {
			where []tenantv1.RowCondition
			want  []string
		}{
			"none":                     {nil, []string{"a", "b", "c", "d", "e", "f"}},
			"letter by letter":         {[]tenantv1.RowCondition{{Column: "plan", Operator: "In", Values: []string{"pro"}}}, []string{"a"}},
			"beyond ASCII":             {[]tenantv1.RowCondition{{Column: "plan", Operator: "In", Values: []string{"prö", "Pro"}}}, []string{"b", "f"}},
			"numbers as texts":         {[]tenantv1.RowCondition{{Column: "n", Operator: "In", Values: []string{"10", "01", "abc", "3.0"}}}, []string{"e"}},
			"none of the values":       {[]tenantv1.RowCondition{{Column: "plan", Operator: "NotIn", Values: []string{"pro", ""}}}, []string{"b", "c", "d", "f"}},
			"there":                    {[]tenantv1.RowCondition{{Column: "n", Operator: "Exists"}}, []string{"a", "b", "c", "e", "f"}},
			"missing":                  {[]tenantv1.RowCondition{{Column: "plan", Operator: "DoesNotExist"}}, []string{"c"}},
			"all conditions must hold": {[]tenantv1.RowCondition{{Column: "plan", Operator: "Exists"}, {Column: "n", Operator: "DoesNotExist"}}, []string{"d"}},
		} {
			t.Run(sentence, func(t *testing.T) {
				if diff := cmp.Diff(test.want, column(read(t, source, database.Query{Columns: []string{"id"}, Where: test.where}), "id")); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

func TestWhoMayNot(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "closed", "id VARCHAR(20), price INT", "('a', 1)")
		s.table(t, "half_closed", "id VARCHAR(20), price INT", "('a', 1)")
		stranger := place{user: "stranger", password: "some-password"}
		if s.kind == tenantv1.SourceMySQL {
			s.Exec(t, "CREATE USER stranger@'%' IDENTIFIED BY 'some-password'", "GRANT SELECT (id) ON half_closed TO stranger@'%'")
			t.Cleanup(func() { s.Exec(t, "DROP USER stranger@'%'") })
		} else {
			s.Exec(t, "CREATE ROLE stranger LOGIN PASSWORD 'some-password'", "GRANT SELECT (id) ON half_closed TO stranger")
			t.Cleanup(func() { s.Exec(t, "DROP OWNED BY stranger", "DROP ROLE stranger") })
		}
		query := database.Query{Columns: []string{"id", "price"}}
		_, err := s.open(t, "closed", stranger).Read(context.Background(), query)
		wantError(t, err, database.AccessDenied, "closed", "denied", "SELECT")
		_, err = s.open(t, "half_closed", stranger).Read(context.Background(), query)
		wantError(t, err, database.AccessDenied, "denied", "SELECT")
		if got := column(read(t, s.open(t, "half_closed", stranger), database.Query{Columns: []string{"id"}}), "id"); len(got) != 1 {
			t.Errorf("what is granted has %v", got)
		}
		_, err = s.open(t, "closed", place{password: "wrong-password"}).Read(context.Background(), query)
		wantError(t, err, database.AccessDenied, dbtest.Username)
		_, err = s.open(t, "closed", place{user: "nobody here"}).Read(context.Background(), query)
		wantError(t, err, database.AccessDenied, "nobody here")
	})
}

func TestWhatIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "things", "id VARCHAR(20)", "('a')")
		query := database.Query{Columns: []string{"id"}}
		_, err := s.open(t, "thing", place{}).Read(context.Background(), query)
		wantError(t, err, database.NotFound, `"tenants"`, "thing")
		for _, missing := range []string{"uid", "things"} {
			_, err = s.open(t, "things", place{}).Read(context.Background(), database.Query{Columns: []string{"id", missing}})
			wantError(t, err, database.NotFound, missing)
		}
		_, err = s.open(t, "things", place{}).Read(context.Background(), database.Query{
			Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "plan", Operator: "In", Values: []string{"x"}}},
		})
		wantError(t, err, database.NotFound, "plan")
		if s.kind == tenantv1.SourcePostgres {
			_, err = s.open(t, "things", place{database: "nothing"}).Read(context.Background(), query)
			wantError(t, err, database.NotFound, "nothing")
			_, err = s.open(t, "things", place{schema: "nowhere"}).Read(context.Background(), query)
			wantError(t, err, database.NotFound, "nowhere")
			return
		}
		// MariaDB does not tell an ordinary user which databases exist.
		_, err = s.open(t, "things", place{database: "nothing"}).Read(context.Background(), query)
		wantError(t, err, database.AccessDenied, "nothing")
	})
}

func TestReadingsOfServersDoNotWrite(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "journal", "id VARCHAR(20)")
		if s.kind == tenantv1.SourceMySQL {
			s.Exec(t, "CREATE OR REPLACE FUNCTION noted() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO journal VALUES ('x'); RETURN 1; END")
		} else {
			s.Exec(t, "CREATE OR REPLACE FUNCTION noted() RETURNS int LANGUAGE sql SECURITY DEFINER AS $$ INSERT INTO journal VALUES ('x') RETURNING 1 $$")
		}
		s.Exec(t, "CREATE OR REPLACE VIEW cunning AS SELECT 'a' AS id, noted() AS n")
		t.Cleanup(func() { s.Exec(t, "DROP VIEW cunning", "DROP FUNCTION noted") })
		if s.kind == tenantv1.SourcePostgres {
			s.Exec(t, "GRANT SELECT ON cunning TO "+dbtest.Username)
		}
		_, err := s.open(t, "cunning", place{}).Read(context.Background(), database.Query{Columns: []string{"id", "n"}})
		wantError(t, err, database.Failed, "read")
		var count int
		if err := s.DB.QueryRow("SELECT COUNT(*) FROM journal").Scan(&count); err != nil || count != 0 {
			t.Errorf("%d rows were written, %v", count, err)
		}
	})
}

func TestAHundredThousandRows(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		many(t, s, "many", 100_000)
		source := s.open(t, "many", place{})
		query := database.Query{Columns: []string{"id", "url"}}
		began := time.Now()
		before := allocated()
		got := read(t, source, query)
		t.Logf("read in %s, with %d MiB of memory", time.Since(began).Round(time.Millisecond), (allocated()-before)>>20)
		ids := map[string]bool{}
		for _, row := range got.Rows {
			ids[*row["id"]] = true
		}
		if len(got.Rows) != 100_000 || len(ids) != 100_000 {
			t.Errorf("%d rows of %d tenants", len(got.Rows), len(ids))
		}
		_, err := source.Read(context.Background(), database.Query{Columns: query.Columns, Limits: database.Limits{Bytes: 1 << 20}})
		wantError(t, err, database.TooMuch, "1 MiB")
		s.Exec(t, "INSERT INTO many VALUES ('one more', '')")
		_, err = source.Read(context.Background(), query)
		wantError(t, err, database.TooMuch, "more than 100000 rows")
		query.Where = []tenantv1.RowCondition{{Column: "url", Operator: "NotIn", Values: []string{""}}}
		if got := read(t, source, query); len(got.Rows) != 100_000 {
			t.Errorf("without that one there are %d rows", len(got.Rows))
		}
	})
}

// allocated is the number of bytes allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// many creates a table with this many rows of about 300 bytes.
func many(t *testing.T, s server, table string, count int) {
	t.Helper()
	s.table(t, table, "id VARCHAR(40), url VARCHAR(400)")
	for from := 0; from < count; from += 1000 {
		var values strings.Builder
		for n := from; n < min(from+1000, count); n++ {
			if n > from {
				values.WriteString(",")
			}
			fmt.Fprintf(&values, "('tenant-%d','https://t%d.example/%s')", n, n, strings.Repeat("x", 270))
		}
		s.Exec(t, "INSERT INTO "+s.name(table)+" VALUES "+values.String())
	}
}
