// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
)

// The encoding of a database does not affect the texts that are read.
func TestDatabasesOfOtherEncodings(t *testing.T) {
	s := postgres(t)
	const name = "old_fashioned"
	s.Exec(t, "CREATE DATABASE "+name+" OWNER "+s.Username+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	t.Cleanup(func() { s.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	config, err := pgx.ParseConfig("sslmode=disable client_encoding=UTF8")
	if err != nil {
		t.Fatal(err)
	}
	config.Host, config.Port, config.User, config.Password, config.Database = s.Host, uint16(s.Port), s.Username, s.Password, name
	db := stdlib.OpenDB(*config)
	defer db.Close()
	exec(t, db, "CREATE TABLE kunden(id text, firma text)", "INSERT INTO kunden VALUES ('a', 'Müller & Söhne')")
	query := database.Query{Columns: []string{"id", "firma"}, Where: []tenantv1.RowCondition{{Column: "firma", Operator: "In", Values: []string{"Müller & Söhne"}}}}
	got := plain(read(t, s.open(t, "kunden", place{database: name}), query))
	if diff := cmp.Diff([]map[string]string{{"id": "a", "firma": "Müller & Söhne"}}, got); diff != "" {
		t.Error(diff)
	}
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
