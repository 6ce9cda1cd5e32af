// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestSourcesAreKeptUntilSomethingChanges(t *testing.T) {
	secrets := things{secrets: map[string]map[string][]byte{"db": {"password": []byte("one"), "other": []byte("x")}, "ca": {"ca.crt": []byte("x")}}}
	spec := tenantv1.DataSource{Type: tenantv1.SourceMySQL, SyncInterval: "30s", MySQL: &tenantv1.MySQLSource{
		Host: "db.example", Username: "reader", PasswordRef: &tenantv1.SecretRef{Name: "db", Key: "password"}, Database: "shop", Table: "tenants",
	}}
	pool := NewPool(Options{})
	defer pool.Close()
	var last Source
	get := func(id string, wantOpened bool, sentence string) {
		t.Helper()
		source, opened, err := pool.Get(context.Background(), id, spec, secrets)
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		if opened != wantOpened || (source == last) == opened {
			t.Errorf("%s: opened %v, want %v", sentence, opened, wantOpened)
		}
		last = source
	}
	get("team/a", true, "the first time")
	get("team/a", false, "again")
	spec.SyncInterval, spec.Where = "1m", []tenantv1.RowCondition{{Column: "id", Operator: exists}}
	get("team/a", false, "another interval, and conditions")
	secrets.secrets["db"]["password"] = []byte("two")
	get("team/a", true, "another password")
	spec.MySQL.Table = "customers"
	get("team/a", true, "another table")
	get("team/b", true, "another registry")
	get("team/b", false, "that one again")

	delete(secrets.secrets, "db")
	_, _, err := pool.Get(context.Background(), "team/b", spec, secrets)
	wantError(t, err, Invalid, "read Secret db")
	secrets.secrets["db"] = map[string][]byte{"password": []byte("two"), "other": []byte("x")}
	get("team/b", false, "the Secret is back as it was")
	pool.Drop("team/b")
	get("team/b", true, "after it was dropped")
	pool.Drop("team/none")
}

func TestASourceThatIsReplacedEnds(t *testing.T) {
	dir := t.TempDir()
	writer(t, filepath.Join(dir, "a.db"), "CREATE TABLE t(id TEXT)")
	pool := NewPool(Options{SQLiteDirs: []string{dir}})
	defer pool.Close()
	spec := sqliteSpec("a.db", "t")
	source, _, err := pool.Get(context.Background(), "team/a", spec, things{})
	if err != nil {
		t.Fatal(err)
	}
	changes := source.Changes(t.Context())
	spec.SQLite = &tenantv1.SQLiteSource{Path: "a.db", Table: "other"}
	if _, opened, err := pool.Get(context.Background(), "team/a", spec, things{}); err != nil || !opened {
		t.Fatalf("opened %v, %v", opened, err)
	}
	for range changes { //nolint:revive // it ends
	}
}

func TestWhatDescribesNoSource(t *testing.T) {
	for _, spec := range []tenantv1.DataSource{
		{}, {Type: "oracle"}, {Type: tenantv1.SourceMySQL}, {Type: tenantv1.SourcePostgres, MySQL: &tenantv1.MySQLSource{}},
	} {
		_, err := Open(context.Background(), spec, things{}, Options{})
		wantError(t, err, Invalid, "spec.source.type")
	}
}

// An API that does not answer is not the user's mistake.
func TestLookupsThatFail(t *testing.T) {
	password := &tenantv1.SecretRef{Name: "db", Key: "password"}
	for _, spec := range []tenantv1.DataSource{
		{Type: tenantv1.SourceMySQL, MySQL: &tenantv1.MySQLSource{Host: "db.example", PasswordRef: password}},
		{Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "tenants", Key: "rows.csv"}},
	} {
		source, err := Open(context.Background(), spec, silent{}, Options{})
		if err == nil {
			_, err = source.Read(context.Background(), Query{Columns: []string{"id"}})
		}
		wantError(t, err, Failed, "no answer")
	}
}

// silent is an API that does not answer.
type silent struct{}

func (silent) Secret(context.Context, string) (map[string][]byte, error) {
	return nil, errors.New("read Secret db: no answer")
}

func (silent) ConfigMap(context.Context, string) (map[string]string, error) {
	return nil, errors.New("read ConfigMap tenants: no answer")
}
