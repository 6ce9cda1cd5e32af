// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "modernc.org/sqlite" // the driver "sqlite", for the tables
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
)

// tables is the directory of SQLite files that registries may read.
func tables() string { return filepath.Join(programs, "tables") }

// sqliteFile is a SQLite file with a table of tenants, and a connection to write to it.
type sqliteFile struct {
	path string
	db   *sql.DB
}

// newTable creates an empty table of tenants for a namespace.
func newTable(t *testing.T, namespace string) *sqliteFile {
	t.Helper()
	f := &sqliteFile{path: filepath.Join(tables(), namespace+".db")}
	var err error
	// Yuba reads at the same time, so writes may have to wait.
	if f.db, err = sql.Open("sqlite", "file:"+f.path+"?_pragma=busy_timeout(10000)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Error(err)
		}
	})
	f.exec(t, "CREATE TABLE tenants ("+tenanttest.Columns+")")
	return f
}

func (f *sqliteFile) exec(t *testing.T, query string) {
	t.Helper()
	if _, err := f.db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// source is the source of a registry for the table.
func (f *sqliteFile) source() string {
	return fmt.Sprintf("    type: sqlite\n    syncInterval: 1s\n    sqlite: {path: %q, table: tenants}", f.path)
}

// tenantHome is a namespace for the test on the shared Yuba.
func tenantHome(t *testing.T) (*yuba, *tenanttest.Home) {
	t.Helper()
	y, ns := common(t)
	return y, &tenanttest.Home{Client: y.client, Namespace: ns, Log: y.logTail}
}

// customers is a namespace with a table, its registry and a small template.
func customers(t *testing.T, template string) (*tenanttest.Home, *sqliteFile) {
	t.Helper()
	_, h := tenantHome(t)
	f := newTable(t, h.Namespace)
	h.Apply(t, tenanttest.Registry("customers", f.source()))
	t.Cleanup(func() { // stop reading the table when the test ends
		registry := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "customers"}}
		if err := h.Client.Delete(context.Background(), registry); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	h.Apply(t, template)
	h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	return h, f
}

// settingsTemplate creates a ConfigMap for each tenant, in the list for manifests of its kind.
const settingsTemplate = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec:
      data: {plan: "{{ .plan }}", host: "{{ .host }}"}
`

func TestTenantFromInsertToDelete(t *testing.T) {
	buildProvider(t)
	_, h := tenantHome(t)
	f := newTable(t, h.Namespace)
	tenanttest.Workflow(t, h, tenanttest.Table{Source: f.source(), Exec: f.exec})
}
