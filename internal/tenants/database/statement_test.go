// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Names of tables and columns never end a quoted name, and values are not part of statements.
func TestHowStatementsAreWritten(t *testing.T) {
	texts := map[string]string{"id": "ID", `a"b`: "AB", "c`d": "CD"}
	query := Query{
		Columns: []string{"id", `a"b`}, Limits: Limits{Rows: 9},
		Where: []tenantv1.RowCondition{
			{Column: "c`d", Operator: in, Values: []string{"'; DROP TABLE tenants; --", "x"}},
			{Column: "id", Operator: exists},
			{Column: `a"b`, Operator: notIn, Values: []string{"y"}},
			{Column: `a"b`, Operator: doesNotExist},
		},
	}
	for engine, test := range map[string]struct {
		table table
		want  string
	}{
		"mysql": {
			&mysqlTable{spec: tenantv1.MySQLSource{Table: "ten`ants"}},
			"SELECT ID, AB FROM `ten``ants` WHERE CAST(CD AS BINARY) IN (CAST(? AS BINARY), CAST(? AS BINARY)) AND `id` IS NOT NULL" +
				" AND (`a\"b` IS NULL OR NOT (CAST(AB AS BINARY) IN (CAST(? AS BINARY)))) AND `a\"b` IS NULL ORDER BY 1 LIMIT 10",
		},
		"postgres": {
			&postgresTable{spec: tenantv1.PostgresSource{Schema: `s"1`, Table: `ten"ants`}},
			`SELECT ID, AB FROM "s""1"."ten""ants" AS "the rows of yuba" WHERE CD COLLATE "C" IN ($1, $2) AND "id" IS NOT NULL` +
				` AND ("a""b" IS NULL OR NOT (AB COLLATE "C" IN ($3))) AND "a""b" IS NULL ORDER BY 1 LIMIT 10`,
		},
		"sqlite": {
			&sqliteTable{spec: tenantv1.SQLiteSource{Table: "ten`ants"}},
			"SELECT ID, AB FROM main.`ten``ants` WHERE (CD COLLATE BINARY) IN (?, ?) AND `id` IS NOT NULL" +
				" AND (`a\"b` IS NULL OR NOT ((AB COLLATE BINARY) IN (?))) AND `a\"b` IS NULL ORDER BY 1 LIMIT 10",
		},
	} {
		t.Run(engine, func(t *testing.T) {
			statement, values := statement(test.table, query, texts)
			if diff := cmp.Diff(test.want, statement); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]any{"'; DROP TABLE tenants; --", "x", "y"}, values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAQueryMayAskFor(t *testing.T) {
	for sentence, test := range map[string]struct {
		query Query
		want  string
	}{
		"no columns":               {Query{}, "needs 1 to 1600 columns"},
		"a column without a name":  {Query{Columns: []string{""}}, "empty or invalid name"},
		"a name that cannot be":    {Query{Columns: []string{"a\x00b"}}, "empty or invalid name"},
		"a condition that is none": {Query{Columns: []string{"id"}, Where: []tenantv1.RowCondition{{Column: "id", Operator: "Is"}}}, "operator"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := test.query.checked("read rows")
			wantError(t, err, Invalid, test.want)
		})
	}
	got, err := Query{Columns: []string{"id", "plan", "id"}}.checked("read rows")
	if err != nil {
		t.Fatal(err)
	}
	want := Query{Columns: []string{"id", "plan"}, Limits: Limits{Rows: 100_000, Bytes: 256 << 20, Time: time.Minute}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// MySQL and MariaDB have error numbers, PostgreSQL has codes.
func TestHowErrorsOfDatabasesAreSorted(t *testing.T) {
	for number, want := range map[uint16]Class{
		1045: AccessDenied, 1142: AccessDenied, 1143: AccessDenied, 1049: NotFound, 1054: NotFound, 1146: NotFound,
		1969: TooMuch, 3024: TooMuch, 1040: Unreachable, 1053: Unreachable, 1064: Failed,
	} {
		if got, _ := mysqlClass(number); got != want {
			t.Errorf("%d is %s, want %s", number, got, want)
		}
	}
	for code, want := range map[string]Class{
		"28P01": AccessDenied, "28000": AccessDenied, "42501": AccessDenied, "42P01": NotFound, "42703": NotFound, "3D000": NotFound,
		"3F000": NotFound, "57014": TooMuch, "57P01": Unreachable, "57P03": Unreachable, "53300": Unreachable, "08006": Unreachable,
		"42601": Failed, "XX000": Failed,
	} {
		if got, _ := postgresClass(code); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
}

func TestWhatDatabasesSayIsShownInOneLine(t *testing.T) {
	if got := said("no such\ttable\n: a\xff\x1b[31m..."); got != "no such table : a? [31m" {
		t.Errorf("%q", got)
	}
	long := make([]rune, 1000)
	for i := range long {
		long[i] = 'ü'
	}
	if got := []rune(said(string(long))); len(got) != 301 {
		t.Errorf("%d characters", len(got))
	}
}
