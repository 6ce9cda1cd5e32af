// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// A registry reports that its database cannot signal changes.
func TestASourceThatDoesNotTellOfChangesIsTold(t *testing.T) {
	last := &reading{uid: "r", generation: 1, at: time.Unix(1000, 0), deaf: `LISTEN on channel "c" has failed since 2026-05-04T10:02:03Z: too many connections`}
	obj := hourly()
	p := &pass{obj: obj, before: obj.DeepCopy(), account: &account{last: last, good: last, sameSince: last.at}, reading: last}
	(&Controller{}).describe(p)
	c := apimeta.FindStatusCondition(obj.Status.Conditions, tenantv1.ConditionReady)
	const want = `0 rows, 0 of them active; 0 templates; until the database can notify of changes, they are seen only at the next interval: LISTEN on channel "c" has failed since 2026-05-04T10:02:03Z: too many connections`
	if c == nil || c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("the condition is %+v", c)
	}
}

// A fixed Secret causes a reading at once, so all references of a source must be known.
func TestWhatRegistriesLookUp(t *testing.T) {
	password, authority := &tenantv1.SecretRef{Name: "password", Key: "p"}, &tenantv1.SecretRef{Name: "ca", Key: "ca.crt"}
	tls := &tenantv1.TLS{CARef: authority, ClientSecretName: "client"}
	for sentence, c := range map[string]struct {
		source tenantv1.DataSource
		want   []string
	}{
		"a database": {tenantv1.DataSource{Type: tenantv1.SourceMySQL, MySQL: &tenantv1.MySQLSource{PasswordRef: password, TLS: tls}},
			[]string{"Secret/shop/password", "Secret/shop/ca", "Secret/shop/client"}},
		"another one, whose Secret has everything": {tenantv1.DataSource{Type: tenantv1.SourcePostgres, Postgres: &tenantv1.PostgresSource{PasswordRef: authority,
			TLS: &tenantv1.TLS{CARef: authority, ClientSecretName: "ca"}}}, []string{"Secret/shop/ca"}},
		"a database without a password": {tenantv1.DataSource{Type: tenantv1.SourceMySQL, MySQL: &tenantv1.MySQLSource{}}, nil},
		"a web server":                  {tenantv1.DataSource{Type: tenantv1.SourceHTTP, HTTP: &tenantv1.HTTPSource{SecretName: "token"}}, []string{"Secret/shop/token"}},
		"a ConfigMap":                   {tenantv1.DataSource{Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "table"}}, []string{"ConfigMap/shop/table"}},
		"a file":                        {tenantv1.DataSource{Type: tenantv1.SourceSQLite, SQLite: &tenantv1.SQLiteSource{Path: "t.db"}}, nil},
		"what another type would":       {tenantv1.DataSource{Type: tenantv1.SourceHTTP, MySQL: &tenantv1.MySQLSource{PasswordRef: password}}, nil},
	} {
		if diff := cmp.Diff(c.want, references("shop", &c.source)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}
