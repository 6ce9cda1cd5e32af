// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestValuesOfRowsAreNotAnswered(t *testing.T) {
	ns := company(t)
	applyText(t, ns, tenantOfWeb("vault", "of-the-row", "2"))
	applyText(t, ns, strings.Replace(tenantOfWeb("broken", "of-the-row", "2"), `'{"planId"`, `'no JSON: {"planId"`, 1))
	for _, line := range []string{"tenant list -o json", "tenant list -o yaml", "get tenants -o json", "get tenant vault-web broken-web -o yaml", "get all -o json"} {
		got := yuba(t, ns, strings.Fields(line)...)
		if strings.Contains(got.out, "of-the-row") || strings.Contains(got.out, "no JSON") {
			t.Errorf("%s shows values of the row:\n%s", line, got.out)
		}
		var answer struct{ Items []tenantv1.Tenant }
		if err := yaml.Unmarshal([]byte(got.out), &answer); err != nil || got.code != ui.ExitOK {
			t.Fatalf("%s: code %d, %v", line, got.code, err)
		}
		seen := 0
		for _, o := range answer.Items {
			want, one := map[string]string{"vault-web": `{"planId":"<sensitive>"}`, "broken-web": "<sensitive>"}[o.Name]
			if !one {
				continue
			}
			seen++
			if got := o.Annotations[tenantv1.AnnotationExtra]; got != want || o.Annotations[tenantv1.AnnotationActivate] != "1" {
				t.Errorf("%s: the annotations of %s are %v", line, o.Name, o.Annotations)
			}
		}
		if seen != 2 {
			t.Errorf("%s has %d of the two tenants", line, seen)
		}
	}
}

// What a shell is given to put into a command is never what somebody has typed into a form.
func TestUidsOfRowsAreNotGivenToShells(t *testing.T) {
	ns := company(t)
	hostile := strings.Replace(tenantOfWeb("reboot-0a1b2c3d", "pro", "2"), "  uid: reboot-0a1b2c3d", `  uid: "$(reboot)"`, 1)
	applyText(t, ns, hostile)
	yuba(t, ns, "__complete", "tenant", "render", "web", "--tenant", "").want(t, ui.ExitOK, "acme\nbeta\nreboot-0a1b2c3d\n:4\n")
	if got := yuba(t, ns, "tenant", "render", "web", "--tenant", "reboot-0a1b2c3d"); got.code != ui.ExitOK || !strings.Contains(got.out, "plan: pro") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
}

// The selector means what the column says, of kinds without a condition Ready as well.
func TestTemplatesAreSelectedByHowTheyStand(t *testing.T) {
	ns := company(t)
	applyText(t, ns, strings.Replace(webTemplate, "{name: web}", "{name: fine}", 1)+`status:
  conditions:
  - {type: Valid, status: "True", reason: ValidationPassed, message: "", lastTransitionTime: "2026-01-02T15:04:05Z"}
  - {type: Applied, status: "True", reason: AllTenantsReady, message: "", lastTransitionTime: "2026-01-02T15:04:05Z"}
`)
	applyText(t, ns, strings.Replace(webTemplate, "{name: web}", "{name: wrong}", 1)+`status:
  conditions:
  - {type: Valid, status: "False", reason: ValidationFailed, message: "", lastTransitionTime: "2026-01-02T15:04:05Z"}
  - {type: Applied, status: "True", reason: AllTenantsReady, message: "", lastTransitionTime: "2026-01-02T15:04:05Z"}
`)
	applyText(t, ns, strings.Replace(webTemplate, "{name: web}", "{name: new}", 1))
	const name = "tenanttemplate.operator.kubernetes-tenants.org/"
	for status, want := range map[string]string{"Ready=true": "fine", "ready=False": "web wrong", "ready=unknown": "new", "valid=false": "wrong", "applied=true": "fine wrong"} {
		names := strings.Fields(want)
		yuba(t, ns, "get", "tenanttemplates", "-o", "name", "--status-selector", status).want(t, ui.ExitOK, name+strings.Join(names, "\n"+name)+"\n")
	}
	if got := yuba(t, ns, "get", "all", "--status-selector", "ready=false"); !strings.Contains(got.out, "tenanttemplate/wrong") || strings.Contains(got.out, "tenanttemplate/fine") {
		t.Errorf("got %s", got.out)
	}
}

func TestRowsAndTemplatesWithoutTenantsAreTold(t *testing.T) {
	ns := company(t)
	applyText(t, ns, strings.Replace(customers, "name: customers}", "name: messy}", 1)+`status:
  lastSync: {rows: 9, active: 9, rejectedRows: 7, rejected: [row 1 has no uid, "rows 2 and 3 have the same uid a\e[31m", c, d, e, f]}
  conditions: [{type: Ready, status: "True", reason: DatabaseConnected, message: 9 rows, lastTransitionTime: "2026-01-02T15:04:05Z"}]
`)
	for name, status := range map[string]string{
		"lonely": `{type: Applied, status: "False", reason: RegistryNotFound, message: there is no TenantRegistry gone, lastTransitionTime: "2026-01-02T15:04:05Z"}`,
	} {
		applyText(t, ns, strings.Replace(webTemplate, "{name: web}", "{name: "+name+"}", 1)+"status:\n  conditions: ["+status+"]\n")
	}
	got := yuba(t, ns, "tenant", "list")
	for _, want := range []string{
		"7 rows of TenantRegistry/" + ns + `/messy cannot be tenants: row 1 has no uid; rows 2 and 3 have the same uid a`, "; c; d; e; and others\n",
		"TenantTemplate/" + ns + "/lonely has no rows: there is no TenantRegistry gone",
	} {
		if !strings.Contains(got.news, want) {
			t.Errorf("%s lacks %s", got.news, want)
		}
	}
	if strings.Contains(got.news, "\x1b") {
		t.Errorf("the terminal is steered by %q", got.news)
	}
}

// A template that waits for a word says for which one, on a line of its own.
func TestATemplateThatGoesSaysWhatItWaitsFor(t *testing.T) {
	ns := company(t)
	api := apitest.Client(t)
	web := session.TenantTemplates.Empty()
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web"}, web); err != nil {
		t.Fatal(err)
	}
	web.SetFinalizers([]string{tenantv1.TemplateFinalizer})
	if err := api.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	web.Object["status"] = map[string]any{"totalTenants": int64(2), "conditions": []any{map[string]any{"type": "Applied", "status": "False", "reason": "TemplateDeleting",
		"message": "it goes when its 2 tenants are gone:\n    kubectl annotate this", "lastTransitionTime": "2026-01-02T15:04:05Z"}}}
	if err := api.Status().Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	// What it said before it was deleted is no reason to wait.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var out, news bytes.Buffer
	Execute(ctx, []string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "delete", "tenanttemplate", "web", "--yes"}, strings.NewReader(""), &out, &news)
	if strings.Contains(news.String(), "Waiting") {
		t.Errorf("it still waits: %s", news.String())
	}
	if got := yuba(t, ns, "tenant", "list"); !strings.Contains(got.news, "TenantTemplate/"+ns+"/web is being deleted: it goes when its 2 tenants are gone:\n    kubectl annotate this\n") {
		t.Errorf("got %s", got.news)
	}
}

func TestAListOfObjectsIsAFileOfTemplates(t *testing.T) {
	ns := company(t)
	exported := yuba(t, ns, "kubectl", "get", "tenanttemplates,tenantregistries,tenants", "-o", "yaml")
	if exported.code != ui.ExitOK || !strings.Contains(exported.out, "kind: List") {
		t.Fatalf("code %d: %s", exported.code, exported.news)
	}
	// What another server has found wrong with it is not this one's.
	text := strings.Replace(exported.out, "message: It is well\n      reason: ValidationPassed\n      status: \"True\"", "message: elsewhere\n      reason: ValidationFailed\n      status: \"False\"", 1)
	if text == exported.out {
		t.Fatalf("the template is not there:\n%s", text)
	}
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := yuba(t, ns, "tenant", "render", "-f", file, "--row", "id=acme", "--row", "plan=pro", "--row", "url=u")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitOK, acmeObjects)
}

// Who may not delete a template has not confirmed that its tenants go when somebody else does.
func TestAConfirmationGoesWithTheDeletionThatFails(t *testing.T) {
	ns := company(t)
	api := apitest.Client(t)
	put(t, &rbacv1.Role{ObjectMeta: named(ns, "writer"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{tenantv1.GroupVersion.Group}, Resources: []string{"tenanttemplates"}, Verbs: []string{"get", "list", "watch", "patch"}}}},
		&rbacv1.RoleBinding{ObjectMeta: named(ns, "writer"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "writer"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "writer"}}})
	config, err := clientcmd.LoadFromFile(apitest.API(t).Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "writer"
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	var out, news bytes.Buffer
	code := Execute(context.Background(), []string{"--kubeconfig", file, "-n", ns, "delete", "tenanttemplate", "web", "--yes"}, strings.NewReader(""), &out, &news)
	web := session.TenantTemplates.Empty()
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web"}, web); err != nil {
		t.Fatal(err)
	}
	if code == ui.ExitOK || !strings.Contains(news.String(), "forbidden") {
		t.Errorf("code %d: %s", code, news.String())
	}
	if said := web.GetAnnotations(); said[tenantv1.AnnotationConfirmDeletion] != "" || web.GetDeletionTimestamp() != nil {
		t.Error(fmt.Sprint("nothing was deleted, and that is confirmed: ", said))
	}
}
