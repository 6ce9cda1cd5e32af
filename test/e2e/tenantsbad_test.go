// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
)

// insert adds rows of id, url, active and plan, written as SQL.
func (f *sqliteFile) insert(t *testing.T, rows ...string) {
	t.Helper()
	f.exec(t, "INSERT INTO tenants (id, url, active, plan) VALUES ("+strings.Join(rows, "), (")+")")
}

// uids maps the uids of rows to the names of tenants.
func uids(t *testing.T, h *tenanttest.Home) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, o := range h.Tenants(t) {
		names[o.Spec.UID] = o.Name
	}
	return names
}

// identities distinguishes tenants from later ones of the same names.
func identities(t *testing.T, h *tenanttest.Home) map[string]types.UID {
	t.Helper()
	out := map[string]types.UID{}
	for _, o := range h.Tenants(t) {
		out[o.Name] = o.UID
	}
	return out
}

// says checks that the status of a tenant contains all the words.
func says(t *testing.T, o *tenantv1.Tenant, words ...string) {
	t.Helper()
	status, err := json.Marshal(o.Status)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words {
		if !strings.Contains(string(status), word) {
			t.Errorf("the status of %s lacks %q:\n%s", o.Name, word, status)
		}
	}
}

func TestRowsThatAreNoTenantsAreToldAndTheOthersGoOn(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	f.insert(t,
		"NULL, 'a.example.com', 1, 'lost'", "'', 'b.example.com', 1, 'lost'", // no uid
		"'twice', 'c.example.com', 1, 'one'", "'twice', 'd.example.com', 1, 'two'",
		"'acme-corp', 'e.example.com', 1, 'x'", "'Acme Corp', 'f.example.com', 1, 'x'", "'acme_corp', 'g.example.com', 1, 'x'",
		"'nulls', NULL, 1, NULL", "'never', 'h.example.com', NULL, 'x'", "'ok', 'https://ok.example.com:8443/x', 1, 'pro'")
	for _, name := range []string{"ok-web", "nulls-web", "acme-corp-web"} {
		h.AwaitReady(t, name)
	}
	names := uids(t, h)
	var found []string
	for uid := range names {
		found = append(found, uid)
	}
	slices.Sort(found)
	if diff := cmp.Diff([]string{"Acme Corp", "acme-corp", "acme_corp", "nulls", "ok"}, found); diff != "" {
		t.Errorf("the rows that are tenants (-want +got):\n%s", diff)
	}
	mapped := regexp.MustCompile(`^acme-corp-x[0-9a-f]{16}-web$`)
	for _, uid := range []string{"Acme Corp", "acme_corp"} {
		if !mapped.MatchString(names[uid]) || len(validation.IsDNS1123Label(names[uid])) > 0 {
			t.Errorf("the tenant of %q is called %q", uid, names[uid])
		}
	}
	if names["Acme Corp"] == names["acme_corp"] {
		t.Errorf("two rows are one tenant: %s", names["Acme Corp"])
	}
	var settings corev1.ConfigMap
	h.Get(t, "nulls-settings", &settings)
	if diff := cmp.Diff(map[string]string{"plan": "", "host": ""}, settings.Data); diff != "" {
		t.Errorf("NULLs are no empty texts (-want +got):\n%s", diff)
	}
	h.Get(t, "ok-settings", &settings)
	if got := settings.Data["host"]; got != "ok.example.com" {
		t.Errorf("the host is %q", got)
	}

	registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	sync := registry.Status.LastSync
	if sync == nil || sync.Rows != 10 || sync.RejectedRows != 4 {
		t.Fatalf("the registry says of its rows %+v, want 10, and 4 of them rejected", sync)
	}
	told := strings.Join(sync.Rejected, "\n")
	for _, word := range []string{"no uid", `uid "twice"`, "the same uid"} {
		if !strings.Contains(told, word) {
			t.Errorf("the rejected rows are not told with %q:\n%s", word, told)
		}
	}
}

func TestColumnThatIsNotThereIsNamedAndChangesNothing(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	f.insert(t, "'acme', 'acme.example.com', 1, 'pro'")
	h.AwaitReady(t, "acme-web")
	before := identities(t, h)
	mapping := func(column string) {
		patch := fmt.Appendf(nil, `{"spec":{"extraValueMappings":{"plan":%q}}}`, column)
		registry := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "customers"}}
		if err := h.Client.Patch(t.Context(), registry, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	mapping("tariff")
	registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonSourceNotFound)
	if m := tenanttest.Message(registry.Status.Conditions, tenantv1.ConditionReady); !strings.Contains(m, "tariff") {
		t.Errorf("the message does not name the column: %s", m)
	}
	mapping("plan")
	h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	h.AwaitReady(t, "acme-web")
	if diff := cmp.Diff(before, identities(t, h)); diff != "" {
		t.Errorf("the tenants are others (-before +after):\n%s", diff)
	}
}

func TestTemplateThatFailsForOneTenantIsItsTroubleAlone(t *testing.T) {
	h, f := customers(t, `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec:
      apiVersion: v1
      kind: ConfigMap
      data:
        plan: '{{ if eq .plan "odd" }}{{ fail "there is no such plan" }}{{ end }}{{ .plan }}'
  - id: other
    nameTemplate: "{{ .uid }}-other"
    spec: {apiVersion: v1, kind: ConfigMap, data: {host: "{{ .host }}"}}
`)
	// The template is checked without any row, so Yuba does not know yet that one of them is unusual.
	h.AwaitTemplate(t, "web", tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed)
	f.insert(t, "'good', 'good.example.com', 1, 'pro'", "'bad', 'bad.example.com', 1, 'odd'", "'fine', 'fine.example.com', 1, 'pro'")
	h.AwaitReady(t, "good-web")
	h.AwaitReady(t, "fine-web")
	bad := h.AwaitTenant(t, "bad-web", tenantv1.ConditionReady, metav1.ConditionFalse, tenantv1.ReasonResourcesFailed)
	says(t, bad, "settings", "there is no such plan")
	h.Eventually(t, "the other object of that tenant is made", func() string {
		if h.Missing(t, "bad-other", &corev1.ConfigMap{}) {
			return "it is not there"
		}
		return ""
	})
	if !h.Missing(t, "bad-settings", &corev1.ConfigMap{}) {
		t.Error("an object that does not render was made")
	}
	f.exec(t, "UPDATE tenants SET plan = 'pro' WHERE id = 'bad'")
	h.AwaitReady(t, "bad-web")
}

func TestObjectOfSomebodyElseIsLeftAloneAndItsOwnerNamed(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	theirs := configMap(h.Namespace, "acme-settings", map[string]string{"plan": "theirs"})
	if err := h.Client.Create(t.Context(), theirs, client.FieldOwner("somebody-else")); err != nil {
		t.Fatal(err)
	}
	f.insert(t, "'acme', 'acme.example.com', 1, 'pro'", "'globex', 'globex.example.com', 1, 'pro'")
	stuck := h.AwaitTenant(t, "acme-web", tenantv1.ConditionConflicted, metav1.ConditionTrue, tenantv1.ReasonResourceConflict)
	says(t, stuck, "somebody-else", "acme-settings")
	h.AwaitReady(t, "globex-web")
	var now corev1.ConfigMap
	h.Get(t, "acme-settings", &now)
	if diff := cmp.Diff(theirs.Data, now.Data); diff != "" || now.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was written (-before +after):\n%s", diff)
	}
	if err := h.Client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	h.AwaitReady(t, "acme-web")
}

func TestKindThatThisAPIDoesNotServeIsToldWithTheWayOut(t *testing.T) {
	h, _ := customers(t, `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  deployments:
  - id: app
    nameTemplate: "{{ .uid }}"
    spec:
      apiVersion: apps/v1
      kind: Deployment
      spec:
        replicas: "{{ int 1 }}"
        selector: {matchLabels: {app: "{{ .uid }}"}}
        template:
          metadata: {labels: {app: "{{ .uid }}"}}
          spec: {containers: [{name: app, image: example.com/app}]}
`)
	template := h.AwaitTemplate(t, "web", tenantv1.ConditionValid, metav1.ConditionFalse, tenantv1.ReasonValidationFailed)
	m := tenanttest.Message(template.Status.Conditions, tenantv1.ConditionValid)
	for _, word := range []string{"deployments[app]", "Deployment", "kubeConfig"} {
		if !strings.Contains(m, word) {
			t.Errorf("the message lacks %q: %s", word, m)
		}
	}
}

func TestProgramsInTemplatesAreCheckedWithFileAndLine(t *testing.T) {
	h, _ := customers(t, `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  manifests:
  - id: stack
    nameTemplate: "{{ .uid }}"
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        interval: 1h
        vars:
        - {name: tennant, value: "{{ .uid }}"}
        inline:
          main.tf: |
            variable "tenant" { type = string }
            resource "terraform_data" "a" { input = var.tenant triggers_replace = 1 }
`)
	template := h.AwaitTemplate(t, "web", tenantv1.ConditionValid, metav1.ConditionFalse, tenantv1.ReasonValidationFailed)
	m := tenanttest.Message(template.Status.Conditions, tenantv1.ConditionValid)
	for _, word := range []string{"manifests[stack]", "main.tf:2"} {
		if !strings.Contains(m, word) {
			t.Errorf("the message lacks %q: %s", word, m)
		}
	}
}

func TestDatabaseThatIsGoneChangesNothing(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	f.insert(t, "'acme', 'acme.example.com', 1, 'pro'", "'globex', 'globex.example.com', 1, 'pro'")
	h.AwaitReady(t, "acme-web")
	h.AwaitReady(t, "globex-web")
	before := identities(t, h)
	away := f.path + ".away"
	if err := os.Rename(f.path, away); err != nil {
		t.Fatal(err)
	}
	registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionFalse, "")
	if m := tenanttest.Message(registry.Status.Conditions, tenantv1.ConditionReady); !strings.Contains(m, f.path) {
		t.Errorf("the message does not say what could not be read: %s", m)
	}
	if diff := cmp.Diff(before, identities(t, h)); diff != "" {
		t.Errorf("the tenants are others (-before +after):\n%s", diff)
	}
	for _, name := range []string{"acme-web", "globex-web"} {
		h.AwaitReady(t, name)
	}
	if err := os.Rename(away, f.path); err != nil {
		t.Fatal(err)
	}
	h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	if diff := cmp.Diff(before, identities(t, h)); diff != "" {
		t.Errorf("the tenants are others after it came back (-before +after):\n%s", diff)
	}
}

func TestManyRowsThatGoAtOnceAreHeldUntilSomebodyConfirms(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	rows := []string{"'acme', 'acme.example.com', 1, 'pro'", "'globex', 'globex.example.com', 1, 'pro'", "'hooli', 'hooli.example.com', 1, 'pro'"}
	f.insert(t, rows...)
	for _, name := range []string{"acme-web", "globex-web", "hooli-web"} {
		h.AwaitReady(t, name)
	}
	before := identities(t, h)

	// A mistake, and its correction.
	f.exec(t, "DELETE FROM tenants")
	registry := h.AwaitRegistry(t, "customers", tenantv1.ConditionHeld, metav1.ConditionTrue, tenantv1.ReasonDeletionHeld)
	if held := registry.Status.Held; held == nil || held.ID == "" || held.Count != 3 {
		t.Fatalf("held is %+v, want three tenants", held)
	}
	m := tenanttest.Message(registry.Status.Conditions, tenantv1.ConditionHeld)
	if !strings.Contains(m, "yuba tenant confirm") {
		t.Errorf("the message does not say what to do: %s", m)
	}
	f.insert(t, rows...)
	h.AwaitRegistry(t, "customers", tenantv1.ConditionHeld, metav1.ConditionFalse, tenantv1.ReasonNothingHeld)
	if diff := cmp.Diff(before, identities(t, h)); diff != "" {
		t.Errorf("an accident cost tenants (-before +after):\n%s", diff)
	}

	// The same on purpose.
	f.exec(t, "UPDATE tenants SET active = 0")
	registry = h.AwaitRegistry(t, "customers", tenantv1.ConditionHeld, metav1.ConditionTrue, tenantv1.ReasonDeletionHeld)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, tenantv1.AnnotationConfirmDeletion, registry.Status.Held.ID)
	if err := h.Client.Patch(t.Context(), registry, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	for name := range before {
		h.AwaitGone(t, name, &tenantv1.Tenant{})
	}
	if !h.Missing(t, "acme-settings", &corev1.ConfigMap{}) {
		t.Error("what a tenant had is still there")
	}
}

func TestTenantsOutliveTheirRegistry(t *testing.T) {
	h, f := customers(t, settingsTemplate)
	f.insert(t, "'acme', 'acme.example.com', 1, 'pro'", "'globex', 'globex.example.com', 1, 'pro'")
	h.AwaitReady(t, "acme-web")
	h.AwaitReady(t, "globex-web")
	before := identities(t, h)
	registry := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "customers"}}
	if err := h.Client.Delete(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	h.AwaitGone(t, "customers", registry)
	h.Eventually(t, "the tenants say that their registry is gone", func() string {
		for _, o := range h.Tenants(t) {
			if !slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == tenantv1.ReasonRegistryGone }) {
				return fmt.Sprintf("%s does not: %+v", o.Name, o.Status.Conditions)
			}
		}
		return ""
	})
	h.Apply(t, tenanttest.Registry("customers", f.source()))
	h.AwaitRegistry(t, "customers", tenantv1.ConditionReady, metav1.ConditionTrue, tenantv1.ReasonDatabaseConnected)
	h.AwaitReady(t, "acme-web")
	h.AwaitReady(t, "globex-web")
	if diff := cmp.Diff(before, identities(t, h)); diff != "" {
		t.Errorf("the tenants are others (-before +after):\n%s", diff)
	}
}

func TestFieldsThatCannotBeAreRefusedByTheAPI(t *testing.T) {
	_, h := tenantHome(t)
	f := newTable(t, h.Namespace)
	for sentence, c := range map[string]struct {
		manifest string
		says     []string
	}{
		"a source that says nothing of its kind": {
			strings.Replace(tenanttest.Registry("a", f.source()), "type: sqlite", "type: mysql", 1), []string{"source.type mysql needs source.mysql"}},
		"a source of another kind": {
			strings.Replace(tenanttest.Registry("b", f.source()), "type: sqlite", "type: oracle", 1), []string{"spec.source.type", "mysql", "postgres", "sqlite"}},
		"an interval without a unit": {
			strings.Replace(tenanttest.Registry("c", f.source()), "syncInterval: 1s", `syncInterval: "30"`, 1), []string{"spec.source.syncInterval"}},
		"a policy that there is not": {
			strings.Replace(settingsTemplate, "- id: settings", "- id: settings\n    deletionPolicy: Keep", 1), []string{"deletionPolicy", "Delete", "Retain"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			said := h.Refused(t, c.manifest)
			for _, word := range c.says {
				if !strings.Contains(said, word) {
					t.Errorf("the API's answer lacks %q: %s", word, said)
				}
			}
		})
	}
}
