// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/dbtest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The user that Yuba reads as has a password with everything in it that is hard about passwords.

func TestTenantFromInsertToDeleteOnMariaDB(t *testing.T) {
	s := mariadb(t)
	s.table(t, "tenants", tenanttest.Columns)
	tenanttest.Workflow(t, homeWith(t, s), tenanttest.Table{Source: sourceOf(s, "1s", ""), Exec: writer(s)})
}

// The interval is an hour, so only notifications from the database can cause the changes.
func TestTenantFromInsertToDeleteOnPostgreSQL(t *testing.T) {
	s := postgres(t)
	tellingTable(t, s)
	tenanttest.Workflow(t, homeWith(t, s), tenanttest.Table{Source: sourceOf(s, "1h", "channel: tenants_changed"), Exec: writer(s)})
}

// tellingTable creates a PostgreSQL table that sends notifications, as on the page about tenants.
func tellingTable(t *testing.T, s server) {
	t.Helper()
	s.table(t, "tenants", tenanttest.Columns)
	s.Exec(t, "CREATE OR REPLACE FUNCTION tell_of_tenants() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NOTIFY tenants_changed; RETURN NULL; END'",
		"CREATE TRIGGER tell_of_tenants AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON tenants FOR EACH STATEMENT EXECUTE FUNCTION tell_of_tenants()")
}

// When a server dies and comes back, no tenant changes, and Yuba listens again.
func TestDatabaseServerThatDiesChangesNothing(t *testing.T) {
	s := server{dbtest.Postgres(t), tenantv1.SourcePostgres}
	tellingTable(t, s)
	h := homeWith(t, s)
	h.Apply(t, tenanttest.Registry("customers", sourceOf(s, "1s", "channel: tenants_changed")))
	h.Apply(t, `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}"}}
`)
	s.Exec(t, "INSERT INTO tenants (id, url, active, plan) VALUES ('acme', 'acme.example.com', 1, 'pro'), ('globex', 'globex.example.com', 1, 'pro')")
	before := map[string]string{}
	for _, name := range []string{"acme-web", "globex-web"} {
		before[name] = string(h.AwaitReady(t, name).UID)
	}

	s.Kill()
	registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonDatabaseConnectionFailed)
	m := tenanttest.Message(registry.Status.Conditions, tenantv1.ConditionReady)
	if !strings.Contains(m, fmt.Sprint(s.Port)) || strings.Contains(m, s.Password) {
		t.Errorf("the message does not say which server could not be read, or says too much: %s", m)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	for name, uid := range before {
		if got := string(h.AwaitReady(t, name).UID); got != uid {
			t.Errorf("the tenant %s is another one", name)
		}
	}
	s.Exec(t, "UPDATE tenants SET plan = 'enterprise' WHERE id = 'acme'")
	h.Eventually(t, "a change after that is seen", func() string {
		var settings corev1.ConfigMap
		h.Get(t, "acme-settings", &settings)
		if got := settings.Data["plan"]; got != "enterprise" {
			return "the plan is " + got
		}
		return ""
	})

	// After its registry is deleted, nothing reads from or listens to the database.
	if err := h.Client.Delete(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, "its connections are gone", func() string {
		var count int
		if err := s.DB.QueryRow("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = $1", s.Username).Scan(&count); err != nil {
			return err.Error()
		}
		if count > 0 {
			return fmt.Sprintf("there are %d", count)
		}
		return ""
	})
}

// The interval is an hour, but the loss of the listener is reported at once, and missed changes are
// found as soon as Yuba listens again.
func TestALostListenerCostsNoHour(t *testing.T) {
	s := postgres(t)
	tellingTable(t, s)
	s.Exec(t, "CREATE ROLE listener LOGIN PASSWORD 'some-password'", "GRANT SELECT ON tenants TO listener")
	t.Cleanup(func() { s.Exec(t, "DROP OWNED BY listener", "DROP ROLE listener") })
	listener := *s.Server
	listener.Username, listener.Password = "listener", "some-password"
	as := server{&listener, s.kind}
	h := homeWith(t, as)
	h.Apply(t, tenanttest.Registry("customers", sourceOf(as, "1h", "channel: tenants_changed")))
	ready := func(sentence string, is func(message string) bool) {
		h.Eventually(t, sentence, func() string {
			registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
			if m := tenanttest.Message(registry.Status.Conditions, tenantv1.ConditionReady); !is(m) {
				return m
			}
			return ""
		})
	}
	ready("there is no row yet", func(m string) bool { return strings.HasPrefix(m, "0 rows") && !strings.Contains(m, "LISTEN") })
	s.Exec(t, "ALTER ROLE listener CONNECTION LIMIT 1",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'listener' AND query LIKE 'LISTEN%'")
	ready("the condition says since when nobody listens", func(m string) bool {
		return strings.Contains(m, `LISTEN on channel "tenants_changed" has failed since 2`)
	})
	s.Exec(t, "INSERT INTO tenants (id, url, active, plan) VALUES ('acme', 'acme.example.com', 1, 'pro')", "ALTER ROLE listener CONNECTION LIMIT -1")
	ready("the row is seen, and somebody listens", func(m string) bool { return strings.HasPrefix(m, "1 row") && !strings.Contains(m, "LISTEN") })
}

// homeWith starts Yuba with the password of a database in a Secret.
func homeWith(t *testing.T, s server) *tenanttest.Home {
	t.Helper()
	h := tenanttest.Launch(t, filepath.Join(tofutest.RepositoryRoot(t), "bin"))
	password := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "database"}, Data: map[string][]byte{"password": []byte(s.Password)}}
	if err := h.Client.Create(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	return h
}

// sourceOf is the source of a registry for the table tenants, with additional lines.
func sourceOf(s server, interval, more string) string {
	if more != "" {
		more = "\n      " + more
	}
	return fmt.Sprintf(`    type: %[1]s
    syncInterval: %[2]s
    %[1]s:
      host: %[3]s
      port: %[4]d
      username: %[5]q
      passwordRef: {name: database, key: password}
      database: %[6]q
      table: tenants%[7]s`, s.kind, interval, s.Host, s.Port, s.Username, s.Database, more)
}

// writer writes to the table as an administrator, whose credentials Yuba does not have.
func writer(s server) func(*testing.T, string) {
	return func(t *testing.T, query string) {
		t.Helper()
		s.Exec(t, query)
	}
}
