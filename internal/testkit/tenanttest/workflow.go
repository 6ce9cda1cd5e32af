// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenanttest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/test/cloud"
)

// Columns are the table's columns for CREATE TABLE. The uid is not a key, so that tests can make
// mistakes.
const Columns = "id VARCHAR(64), url VARCHAR(200), active INTEGER, plan VARCHAR(64)"

// Table is a table with Columns.
type Table struct {
	// Source is the field source of a registry, as YAML, indented by four spaces.
	Source string
	// Exec writes to it, in SQL that every database supports.
	Exec func(t *testing.T, query string)
}

// workflow is the life of one tenant and its fixtures.
type workflow struct {
	*Home
	table Table
	cloud *cloud.Cloud
}

// Workflow performs the seven steps of the published guide, from INSERT to DELETE.
func Workflow(t *testing.T, h *Home, table Table) {
	w := &workflow{h, table, cloud.Start()}
	t.Cleanup(w.cloud.Close)
	w.cloud.KeepJournal(nil)
	for _, step := range []struct {
		sentence string
		try      func(*testing.T)
	}{
		{"an empty table has no tenants", w.emptyTableHasNone},
		{"a row becomes a tenant, and its application waits for its infrastructure", w.rowBecomesTenant},
		{"a row that is not active becomes one when it is", w.rowIsActivated},
		{"a changed row reaches its own tenant only", w.rowChanges},
		{"a deleted row takes all with it, the application first", w.rowGoes},
		{"a deactivated row does the same", w.rowIsDeactivated},
		{"template and registry go when nobody has them", w.kindsGo},
	} {
		if !t.Run(step.sentence, step.try) {
			t.FailNow()
		}
	}
}

func (w *workflow) emptyTableHasNone(t *testing.T) {
	w.Apply(t, credentials(w.cloud.URL(), w.cloud.Token()))
	w.Apply(t, Registry("customers", w.table.Source))
	w.Apply(t, template)
	w.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	w.AwaitTemplate(t, "web", tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed)
	if got := w.Names(t); len(got) > 0 {
		t.Errorf("there are tenants without a row: %v", got)
	}
}

// rowBecomesTenant performs steps 1 to 6 of the guide.
func (w *workflow) rowBecomesTenant(t *testing.T) {
	gate := w.cloud.Hold(http.MethodPut, "acme-database")
	defer gate.Release()
	w.table.Exec(t, "INSERT INTO tenants (id, url, active, plan) VALUES ('acme', 'https://acme.example.com/start', 1, 'pro'), ('globex', 'globex.example.com', 0, 'free')")

	// 1. The registry creates the Tenant.
	var tenant tenantv1.Tenant
	w.Eventually(t, "the row becomes a tenant", func() string {
		if w.Missing(t, "acme-web", &tenant) {
			return "there is none"
		}
		return ""
	})
	if tenant.Spec.UID != "acme" || tenant.Spec.TemplateRef != "web" {
		t.Errorf("the tenant is of row %q and template %q", tenant.Spec.UID, tenant.Spec.TemplateRef)
	}
	for key, want := range map[string]string{tenantv1.LabelRegistry: "customers", tenantv1.LabelUID: "acme"} {
		if got := tenant.Labels[key]; got != want {
			t.Errorf("the tenant's label %s is %q, want %q", key, got, want)
		}
	}
	for key, want := range map[string]string{tenantv1.AnnotationHostOrURL: "https://acme.example.com/start", tenantv1.AnnotationActivate: "1",
		tenantv1.AnnotationExtra: `{"plan":"pro"}`, tenantv1.AnnotationTemplateGeneration: "1"} {
		if got := tenant.Annotations[key]; got != want {
			t.Errorf("the tenant's annotation %s is %q, want %q", key, got, want)
		}
	}

	// 2. The stack is created, with its defaults.
	var database infrav1.Terraform
	w.Eventually(t, "the tenant's stack is made", func() string {
		if w.Missing(t, "acme-database", &database) {
			return "there is none"
		}
		return ""
	})
	if database.Spec.ApprovePlan != infrav1.ApprovePlanAuto || !database.Spec.DestroyResourcesOnDeletion || database.Labels[tenantv1.LabelUID] != "acme" {
		t.Errorf("approvePlan is %q, destroyResourcesOnDeletion %t, the label %q", database.Spec.ApprovePlan, database.Spec.DestroyResourcesOnDeletion,
			database.Labels[tenantv1.LabelUID])
	}

	// 3 and 4. It is planned and applied, which takes time. Its dependants do not exist meanwhile.
	w.reached(t, gate)
	if !w.Missing(t, "acme-app", &infrav1.Terraform{}) || !w.Missing(t, "acme-settings", &corev1.ConfigMap{}) {
		t.Error("the application exists before its dependency")
	}
	waiting := w.AwaitTenant(t, "acme-web", tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonNotAllResourcesReady)
	if waiting.Status.DesiredResources != 3 || waiting.Status.ReadyResources != 0 {
		t.Errorf("%d of %d objects are ready, want 0 of 3", waiting.Status.ReadyResources, waiting.Status.DesiredResources)
	}
	gate.Release()

	// 5 and 6. The application uses the outputs in the Secret.
	done := w.AwaitReady(t, "acme-web")
	if done.Status.DesiredResources != 3 || done.Status.ReadyResources != 3 || len(done.Status.AppliedResources) != 3 {
		t.Errorf("the tenant is ready with %+v", done.Status)
	}
	var outputs corev1.Secret
	w.Get(t, "acme-database", &outputs)
	if got := string(outputs.Data["address"]); got != "db://acme-database" || outputs.Labels[tenantv1.LabelUID] != "acme" {
		t.Errorf("the outputs are %q, and the Secret's label %q", got, outputs.Labels[tenantv1.LabelUID])
	}
	w.has(t, "acme-app", "talks to db://acme-database")
	w.settingsAre(t, "acme", map[string]string{"plan": "pro", "host": "acme.example.com"})
	w.inOrder(t, "acme")
	if got := w.Names(t); !slices.Equal(got, []string{"acme-web"}) {
		t.Errorf("the tenants are %v; the row that is not active has none", got)
	}
}

// reached waits until the cloud blocks the request.
func (w *workflow) reached(t *testing.T, gate *cloud.Gate) {
	t.Helper()
	select {
	case <-gate.Reached():
	case <-time.After(Patience):
		t.Fatalf("nothing is applied.\n%s\nServer:\n%s", w.everything(t), w.Log())
	}
}

// has waits until an object in the cloud has a content.
func (w *workflow) has(t *testing.T, name, content string) {
	t.Helper()
	w.Eventually(t, fmt.Sprintf("the cloud has %s with %q", name, content), func() string {
		if o, _ := w.cloud.Object(name); o.Content != content {
			return fmt.Sprintf("it has %q", o.Content)
		}
		return ""
	})
}

func (w *workflow) settingsAre(t *testing.T, uid string, want map[string]string) {
	t.Helper()
	var settings corev1.ConfigMap
	w.Get(t, uid+"-settings", &settings)
	if diff := cmp.Diff(want, settings.Data); diff != "" {
		t.Errorf("the settings of %s (-want +got):\n%s", uid, diff)
	}
}

// inOrder checks that the application was planned after the apply of its infrastructure.
func (w *workflow) inOrder(t *testing.T, uid string) {
	t.Helper()
	var database, app infrav1.Terraform
	w.Get(t, uid+"-database", &database)
	w.Get(t, uid+"-app", &app)
	for _, o := range []*infrav1.Terraform{&database, &app} {
		if o.Status.LastRun == nil || !apimeta.IsStatusConditionTrue(o.Status.Conditions, infrav1.ConditionReady) {
			t.Fatalf("the tenant is ready before its stack %s: %+v", o.Name, o.Status)
		}
	}
	if app.Status.LastRun.StartedAt.Before(database.Status.LastRun.FinishedAt) {
		t.Errorf("the application began at %s, and its infrastructure was ready at %s", app.Status.LastRun.StartedAt, database.Status.LastRun.FinishedAt)
	}
}

func (w *workflow) rowIsActivated(t *testing.T) {
	w.table.Exec(t, "UPDATE tenants SET active = 1 WHERE id = 'globex'")
	w.AwaitReady(t, "globex-web")
	w.has(t, "globex-app", "talks to db://globex-database")
	w.settingsAre(t, "globex", map[string]string{"plan": "free", "host": "globex.example.com"})
}

func (w *workflow) rowChanges(t *testing.T) {
	others := w.cloud.Count(http.MethodPut, "globex-database") + w.cloud.Count(http.MethodPut, "globex-app")
	w.table.Exec(t, "UPDATE tenants SET plan = 'enterprise' WHERE id = 'acme'")
	w.has(t, "acme-database", "plan enterprise")
	w.Eventually(t, "the settings follow", func() string {
		var settings corev1.ConfigMap
		w.Get(t, "acme-settings", &settings)
		if got := settings.Data["plan"]; got != "enterprise" {
			return "the plan is " + got
		}
		return ""
	})
	w.AwaitReady(t, "acme-web")
	if got := w.cloud.Count(http.MethodPut, "globex-database") + w.cloud.Count(http.MethodPut, "globex-app"); got != others {
		t.Errorf("%d changes were made for a tenant whose row has not changed", got-others)
	}
}

// rowGoes performs step 7 of the guide.
func (w *workflow) rowGoes(t *testing.T) {
	w.table.Exec(t, "DELETE FROM tenants WHERE id = 'acme'")
	w.gone(t, "acme")
	if got := w.Names(t); !slices.Equal(got, []string{"globex-web"}) {
		t.Errorf("the tenants that stay are %v", got)
	}
	w.AwaitReady(t, "globex-web")
}

func (w *workflow) rowIsDeactivated(t *testing.T) {
	w.table.Exec(t, "UPDATE tenants SET active = 0 WHERE id = 'globex'")
	w.gone(t, "globex")
	for _, change := range w.cloud.Journal() {
		if m := change.Mistaken(); m != "" {
			t.Errorf("%s %s: %s", change.Method, change.Name, m)
		}
	}
	if got := w.cloud.Names(""); len(got) > 0 {
		t.Errorf("the cloud still has %v", got)
	}
}

func (w *workflow) kindsGo(t *testing.T) {
	for _, o := range []client.Object{&tenantv1.TenantTemplate{}, &tenantv1.TenantRegistry{}} {
		name := "web"
		if _, is := o.(*tenantv1.TenantRegistry); is {
			name = "customers"
		}
		o.SetNamespace(w.Namespace)
		o.SetName(name)
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.AwaitGone(t, name, o)
	}
}

// gone waits until nothing is left of a tenant, and checks that the application was deleted before
// its dependencies.
func (w *workflow) gone(t *testing.T, uid string) {
	t.Helper()
	w.AwaitGone(t, uid+"-web", &tenantv1.Tenant{})
	ofTenant := []client.ListOption{client.InNamespace(w.Namespace), client.MatchingLabels{tenantv1.LabelUID: uid}}
	for _, list := range []client.ObjectList{&infrav1.TerraformList{}, &corev1.ConfigMapList{}} {
		if err := w.Client.List(t.Context(), list, ofTenant...); err != nil {
			t.Fatal(err)
		}
		if n := apimeta.LenList(list); n > 0 {
			t.Errorf("%d objects of the tenant are still there: %+v", n, list)
		}
	}
	if !w.Missing(t, uid+"-database", &corev1.Secret{}) {
		t.Error("the outputs are still there")
	}
	if got := w.cloud.Names(uid + "-"); len(got) > 0 {
		t.Errorf("the cloud still has %v", got)
	}
	var deleted []string
	for _, change := range w.cloud.Journal() {
		if change.Method == http.MethodDelete && strings.HasPrefix(change.Name, uid+"-") {
			deleted = append(deleted, change.Name)
		}
	}
	if diff := cmp.Diff([]string{uid + "-app", uid + "-database"}, deleted); diff != "" {
		t.Errorf("the order in which it went (-want +got):\n%s", diff)
	}
}
