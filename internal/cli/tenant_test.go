// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// applyText puts an object into a namespace of the API, status and all.
func applyText(t *testing.T, namespace, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o.SetNamespace(namespace)
	put(t, o)
}

const customers = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantRegistry
metadata: {name: customers}
spec:
  source: {type: configMap, syncInterval: 30s, configMap: {name: customers, key: rows.yaml}}
  valueMappings: {uid: id, hostOrUrl: url, activate: is_active}
  extraValueMappings: {planId: plan}
`

const webTemplate = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    spec: {data: {plan: "{{ .planId }}"}}
  secrets:
  - id: first
    nameTemplate: "{{ .uid }}-first"
    creationPolicy: Once
    deletionPolicy: Retain
    spec: {stringData: {password: s3cr3t}}
`

// tenantOfWeb is the Tenant of a row with the template above.
func tenantOfWeb(uid, plan, ready string) string {
	status := `"True", reason: Reconciled, message: All 2 objects are ready`
	if ready != "2" {
		status = `"False", reason: NotAllResourcesReady, message: "settings: waits"`
	}
	return `
apiVersion: operator.kubernetes-tenants.org/v1
kind: Tenant
metadata:
  name: ` + uid + `-web
  labels: {kubernetes-tenants.org/registry: customers, kubernetes-tenants.org/uid: ` + uid + `}
  annotations: {kubernetes-tenants.org/hostOrUrl: "https://` + uid + `.example.com", kubernetes-tenants.org/activate: "1", kubernetes-tenants.org/extra: '{"planId":"` + plan + `"}'}
spec:
  uid: ` + uid + `
  templateRef: web
  configMaps:
  - {id: settings, nameTemplate: ` + uid + `-settings, spec: {data: {plan: "{{ .planId }}"}}}
  secrets:
  - {id: first, nameTemplate: ` + uid + `-first, creationPolicy: Once, deletionPolicy: Retain, spec: {stringData: {password: s3cr3t}}}
status:
  readyResources: ` + ready + `
  desiredResources: 2
  inventory:
  - {id: settings, apiVersion: v1, kind: ConfigMap, namespace: default, name: ` + uid + `-settings}
  conditions:
  - {type: Ready, status: ` + status + `, lastTransitionTime: "2026-01-02T15:04:05Z"}
`
}

// company is a namespace with a registry, a template and two tenants.
func company(t *testing.T) string {
	t.Helper()
	ns := apitest.Namespace(t)
	applyText(t, ns, customers+`status:
  desired: 2
  ready: 1
  failed: 0
  conditions: [{type: Ready, status: "True", reason: DatabaseConnected, message: 2 rows, lastTransitionTime: "2026-01-02T15:04:05Z"}]
`)
	applyText(t, ns, webTemplate+`status:
  totalTenants: 2
  readyTenants: 1
  conditions:
  - {type: Valid, status: "True", reason: ValidationPassed, message: It is well, lastTransitionTime: "2026-01-02T15:04:05Z"}
  - {type: Applied, status: "False", reason: NotAllTenantsReady, message: 1 of 2 tenants is ready, lastTransitionTime: "2026-01-02T15:04:05Z"}
`)
	applyText(t, ns, tenantOfWeb("acme", "pro", "2"))
	applyText(t, ns, tenantOfWeb("beta", "free", "1"))
	return ns
}

func TestTenantsAreListed(t *testing.T) {
	ns := company(t)
	const head = "NAME  UID  TEMPLATE  OBJECTS  READY  MESSAGE\n"
	const acme, beta = "acme-web  acme  web  2/2  True  All 2 objects are ready\n", "beta-web  beta  web  1/2  False  settings: waits\n"
	for line, want := range map[string]string{
		"tenant list": head + acme + beta,
		"tenants ls":  head + acme + beta,
		"tenant list --status-selector ready=false":               head + beta,
		"tenant list --registry customers --template web -o name": "tenant.operator.kubernetes-tenants.org/acme-web\ntenant.operator.kubernetes-tenants.org/beta-web\n",
		"tenant list --template other":                            "",
		"tenant list --registry other":                            "",
		"tenant list -l kubernetes-tenants.org/uid=beta":          head + beta,
		"get tenants":                        head + acme + beta,
		"get tenant NS/acme-web --no-header": acme,
		"get tenantregistries":               "NAME  TENANTS  FAILED  READY  MESSAGE\ncustomers  1/2  0  True  2 rows\n",
		"get tr -o name":                     "tenantregistry.operator.kubernetes-tenants.org/customers\n",
		"get tenanttemplates":                "NAME  REGISTRY  TENANTS  READY  MESSAGE\nweb  customers  1/2  False  1 of 2 tenants is ready\n",
		"get all": "NAME  REVISION  READY  MESSAGE\ntenantregistry/customers  True  2 rows\ntenanttemplate/web  False  1 of 2 tenants is ready\n" +
			"tenant/acme-web  True  All 2 objects are ready\ntenant/beta-web  False  settings: waits\n",
		"__complete tenant render ":              "web\n:4\n",
		"__complete tenant confirm ":             "customers\n:4\n",
		"__complete tenant list --template ":     "web\n:4\n",
		"__complete tenant render web --tenant ": "acme\nbeta\n:4\n",
		"__complete tenant diff --tenant ":       "acme\nbeta\n:4\n",
		"__complete get tenants ":                "acme-web\nbeta-web\n:4\n",
		"__complete delete tenantregistry c":     "customers\n:4\n",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(strings.ReplaceAll(line, "NS", ns))
			if strings.HasSuffix(line, " ") {
				words = append(words, "")
			}
			got := yuba(t, ns, words...)
			got.out = columnsOf(got.out, ns)
			got.want(t, ui.ExitOK, want)
		})
	}
	everywhere := yuba(t, "default", "tenant", "list", "-A", "-l", "kubernetes-tenants.org/uid=beta")
	if out := columnsOf(everywhere.out, ns); !strings.Contains(out, "NAMESPACE  NAME  UID") || !strings.Contains(out, "NS  "+beta) {
		t.Errorf("got %s", out)
	}
	list := yuba(t, ns, "tenant", "list", "-o", "json")
	var answer struct{ Items []tenantv1.Tenant }
	if err := json.Unmarshal([]byte(list.out), &answer); err != nil || len(answer.Items) != 2 || answer.Items[0].Spec.UID != "acme" || len(answer.Items[0].Status.Inventory) != 1 {
		t.Errorf("%v: %s", err, list.out)
	}
	yuba(t, apitest.Namespace(t), "tenant", "list").want(t, ui.ExitOK, "", "No Tenants found in namespace")
	yuba(t, ns, "tenant", "list", "--status-selector", "ready").want(t, ui.ExitUsage, "", "want CONDITION=STATUS")
	yuba(t, ns, "delete", "tenant", "acme-web").want(t, ui.ExitUsage, "")
	yuba(t, ns, "delete", "tenanttemplate", "web").want(t, ui.ExitUsage, "", "deletes its 2 tenants", "confirm with --yes")
}

func TestATreeHasWhatTenantsHave(t *testing.T) {
	ns := company(t)
	got := yuba(t, ns, "tree")
	const acme = "Tenant/NS/acme-web  ready\n%s└── ConfigMap/default/acme-settings\n"
	want := "TenantRegistry/NS/customers  ready\n└── TenantTemplate/NS/web  not ready: 1 of 2 tenants is ready\n    ├── " + fmt.Sprintf(acme, "    │   ") +
		"    └── Tenant/NS/beta-web  not ready: settings: waits\n        └── ConfigMap/default/beta-settings\n"
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitOK, want, "")
	got = yuba(t, ns, "tree", "tenant", "acme-web")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitOK, fmt.Sprintf(acme, ""), "")
	yuba(t, ns, "tree", "tenant", "nope").want(t, ui.ExitNotFound, "", "there is no such Tenant")
}

// Whoever says yes to the question has confirmed the deletion of this very template.
func TestADeletionOfATemplateIsConfirmedByTheAnswer(t *testing.T) {
	ns := company(t)
	api := apitest.Client(t)
	web := session.TenantTemplates.Empty()
	key := client.ObjectKey{Namespace: ns, Name: "web"}
	if err := api.Get(t.Context(), key, web); err != nil {
		t.Fatal(err)
	}
	web.SetFinalizers([]string{tenantv1.TemplateFinalizer})
	if err := api.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	yuba(t, ns, "delete", "tenanttemplate", "web", "--wait=false").want(t, ui.ExitUsage, "", "deletes its 2 tenants", "confirm with --yes")
	if err := api.Get(t.Context(), key, web); err != nil || web.GetAnnotations()[tenantv1.AnnotationConfirmDeletion] != "" {
		t.Fatalf("%v: it was changed without confirmation: %v", err, web.GetAnnotations())
	}
	yuba(t, ns, "delete", "tenanttemplate", "web", "--yes", "--wait=false").want(t, ui.ExitOK, "", "is being deleted")
	if err := api.Get(t.Context(), key, web); err != nil {
		t.Fatal(err)
	}
	if web.GetAnnotations()[tenantv1.AnnotationConfirmDeletion] != string(web.GetUID()) || web.GetDeletionTimestamp() == nil {
		t.Errorf("the template is %v", web.Object["metadata"])
	}
	web.SetFinalizers(nil)
	if err := api.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	yuba(t, ns, "delete", "tenanttemplate", "web", "--yes").want(t, ui.ExitNotFound, "", "there is no such TenantTemplate")
}

func TestWhatKeepsTenantsFromTheirTemplateIsTold(t *testing.T) {
	ns := company(t)
	for name, conditions := range map[string]string{
		"broken": `{type: Valid, status: "False", reason: ValidationFailed, message: "db: it does not render\nweb: nor does it"`,
		"paused": `{type: Applied, status: "False", reason: RolloutPaused, message: "acme-paused has failed"`,
	} {
		applyText(t, ns, strings.Replace(webTemplate, "{name: web}", "{name: "+name+"}", 1)+"status:\n  conditions: ["+conditions+`, lastTransitionTime: "2026-01-02T15:04:05Z"}]`+"\n")
	}
	got := yuba(t, ns, "tenant", "list", "--registry", "customers")
	for _, want := range []string{"TenantTemplate/" + ns + "/broken has mistakes, and does not create or change tenants: db: it does not render (and 1 more)",
		"The rollout of TenantTemplate/" + ns + "/paused is paused: acme-paused has failed"} {
		if !strings.Contains(got.news, want) {
			t.Errorf("%s lacks %s", got.news, want)
		}
	}
	for _, others := range []string{"--template=web", "--registry=other"} {
		if got := yuba(t, ns, "tenant", "list", others); strings.Contains(got.news, "TenantTemplate/") {
			t.Errorf("%s mentions %s", others, got.news)
		}
	}
}

func TestHeldDeletionsAreToldAndConfirmed(t *testing.T) {
	ns := apitest.Namespace(t)
	applyText(t, ns, customers+`status:
  held: {id: 5f2a91c0, count: 7, tenants: [a-web, b-web, c-web, d-web, e-web, f-web], message: 7 of 10 rows are gone}
  conditions:
  - {type: Ready, status: "False", reason: DatabaseConnectionFailed, message: no route to host, lastTransitionTime: "2026-01-02T15:04:05Z"}
  - {type: Held, status: "True", reason: DeletionHeld, message: 7 tenants wait to be deleted, lastTransitionTime: "2026-01-02T15:04:05Z"}
`)
	quiet := strings.Replace(customers, "name: customers}", "name: quiet}", 1)
	applyText(t, ns, quiet)
	yuba(t, ns, "tenant", "list").want(t, ui.ExitOK, "", "; its tenants stay as they are: no route to host",
		"holds the deletion of 7 tenants: a-web, b-web, c-web, d-web, e-web and 2 more", "    yuba tenant confirm "+ns+"/customers")
	if got := yuba(t, ns, "get", "tenantregistries", "customers"); !strings.Contains(got.out, "7 tenants wait to be deleted") {
		t.Errorf("got %s", got.out)
	}
	yuba(t, ns, "tenant", "confirm", "nope").want(t, ui.ExitNotFound, "", "there is no such TenantRegistry", "yuba get tenantregistries -n "+ns)
	yuba(t, ns, "tenant", "confirm", "quiet", "--yes").want(t, ui.ExitFailure, "", "no deletion is held")
	yuba(t, ns, "tenant", "confirm", "customers").want(t, ui.ExitUsage, "", "7 of 10 rows are gone", "7 tenants of TenantRegistry/"+ns+"/customers will be deleted", "confirm with --yes")
	yuba(t, ns, "tenant", "confirm", "customers", "--yes", "--id", "other").want(t, ui.ExitFailure, "", "the held deletion is now 5f2a91c0")
	confirmed := func() string {
		o := session.TenantRegistries.Empty()
		if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "customers"}, o); err != nil {
			t.Fatal(err)
		}
		return o.GetAnnotations()[tenantv1.AnnotationConfirmDeletion]
	}
	if got := confirmed(); got != "" {
		t.Errorf("%s was confirmed without a request", got)
	}
	yuba(t, ns, "tenant", "confirm", "customers", "--yes", "--id", "5f2a91c0", "-o", "name").want(t, ui.ExitOK, "tenantregistry.operator.kubernetes-tenants.org/customers\n", "Confirmed.")
	if got := confirmed(); got != "5f2a91c0" {
		t.Errorf("%q is confirmed", got)
	}
}

const acmeObjects = `apiVersion: v1
data:
  plan: pro
kind: ConfigMap
metadata:
  labels:
    kubernetes-tenants.org/uid: acme
  name: acme-settings
  namespace: NS
---
apiVersion: v1
kind: Secret
metadata:
  labels:
    kubernetes-tenants.org/uid: acme
  name: acme-first
  namespace: NS
stringData:
  password: <sensitive>
`

func TestATemplateIsRendered(t *testing.T) {
	ns := company(t)
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(customers+"---"+webTemplate+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, news := range map[string]string{
		"tenant render web --tenant acme":                            "",
		"tenant render web --row id=acme --row plan=pro --row url=u": "",
		"tenant render web --row uid=acme --row planId=pro":          "Columns without a value are empty: url.",
		"tenant render NS/web --row id=acme --row plan=pro":          "",
		"tenant render -f FILE --row id=acme --row plan=pro":         "",
		"tenant render web -f FILE --tenant acme":                    "",
		"tenant render web -f FILE --row uid=acme --row planId=pro":  "",
	} {
		t.Run(line, func(t *testing.T) {
			got := yuba(t, ns, strings.Fields(strings.NewReplacer("NS", ns, "FILE", file).Replace(line))...)
			got.out = strings.ReplaceAll(got.out, ns, "NS")
			got.want(t, ui.ExitOK, acmeObjects, news)
		})
	}
	// A file without the registry: the API has it.
	alone := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(alone, []byte(webTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	got := yuba(t, ns, "tenant", "render", "-f", alone, "--row", "id=acme", "--row", "plan=pro")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitOK, acmeObjects, "")
	elsewhere := apitest.Namespace(t)
	got = yuba(t, elsewhere, "tenant", "render", "-f", alone, "--row", "uid=acme", "--row", "planId=pro")
	got.out = strings.ReplaceAll(got.out, elsewhere, "NS")
	got.want(t, ui.ExitOK, acmeObjects, "There is no TenantRegistry "+elsewhere+"/customers", "use those of variables")
	if got := yuba(t, ns, "tenant", "render", "web", "--row", "id=acme", "--show-sensitive"); !strings.Contains(got.out, "password: s3cr3t") {
		t.Errorf("got %s", got.out)
	}
	sample := yuba(t, ns, "tenant", "render", "web", "-o", "json")
	if !strings.Contains(sample.out, `"name": "sample-settings"`) || !strings.Contains(sample.news, "The row is made up.") || sample.code != ui.ExitOK {
		t.Errorf("%+v", sample)
	}
	// A control character that a row has is escaped, and breaks nothing.
	got = yuba(t, ns, "tenant", "render", "web", "--row", "id=acme", "--row", "plan=Kim\u0092s\u007f")
	var first struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(strings.SplitN(got.out, "---", 2)[0]), &first); err != nil || first.Data["plan"] != "Kim\u0092s\u007f" {
		t.Errorf("%v: %q\n%s\n%s", err, first.Data, got.out, got.news)
	}
	yuba(t, ns, "tenant", "render", "nope").want(t, ui.ExitNotFound, "", "there is no such TenantTemplate")
	yuba(t, ns, "tenant", "render", "web", "--tenant", "nope").want(t, ui.ExitNotFound, "", "registry "+ns+"/customers has no such tenant")
	yuba(t, ns, "tenant", "render", "web", "--row", "plan=pro").want(t, ui.ExitUsage, "", "--row id=…: the tenant's uid is missing")
	yuba(t, ns, "tenant", "render", "web", "--row", "id=a", "--row", "size=3").want(t, ui.ExitUsage, "", "--row size: the registry customers has no such column", "it maps id, is_active, plan, url")
	yuba(t, ns, "tenant", "render", "web", "--row", "id=a", "--row", "uid=b").want(t, ui.ExitUsage, "", "--row uid: the column id has a value already")
	if got := yuba(t, ns, "tenant", "render", "web", "--row", "id=a", "--row", "is_active=no"); got.code != ui.ExitOK || !strings.Contains(got.news, `The row is not active (is_active is "no")`) {
		t.Errorf("%+v", got)
	}
	yuba(t, ns, "tenant", "render", "nope", "-f", file).want(t, ui.ExitNotFound, "", "has no TenantTemplate "+ns+"/nope")
}

func TestMistakesInATemplateAreTold(t *testing.T) {
	ns := apitest.Namespace(t)
	file := filepath.Join(t.TempDir(), "broken.yaml")
	broken := `apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: broken}
spec:
  registryId: customers
  configMaps:
  - {id: good, nameTemplate: "{{ .uid }}", spec: {data: {x: y}}}
  manifests:
  - id: db
    nameTemplate: "{{ .uid }}-db"
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec: {interval: 1h, inline: {main.tf: "locals {}\nvariable \"a\" { type = string  default = \"x\" }\n"}}
`
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	got := yuba(t, ns, "tenant", "render", "-f", file, "--row", "uid=acme")
	if got.code != ui.ExitFailure || !strings.Contains(got.news, "Mistake: manifests[db]: main.tf:2:") || !strings.Contains(got.news, "it has 1 mistake") {
		t.Errorf("code %d: %s", got.code, got.news)
	}
	if !strings.Contains(got.out, "kind: ConfigMap") {
		t.Errorf("objects without mistakes are not shown:\n%s", got.out)
	}
	// The command reports all mistakes at once, each with its lines.
	if err := os.WriteFile(file, []byte(strings.Replace(broken, "locals {}\\n", "locals {\\n  x = \\n}\\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	got = yuba(t, ns, "tenant", "render", "-f", file, "--row", "uid=acme")
	for _, want := range []string{"main.tf:2:7: Invalid expression", "   2:   x = \n", "main.tf:4:31: Invalid single-argument", "\n   4: variable \"a\" { type = string  default", "^^^^^^^", "it has 2 mistakes"} {
		if got.code != ui.ExitFailure || !strings.Contains(got.news, want) {
			t.Errorf("code %d, and it lacks %q:\n%s", got.code, want, got.news)
		}
	}
	if err := os.WriteFile(file, []byte(broken+"---\n"+strings.Replace(broken, "name: broken", "name: second", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	yuba(t, ns, "tenant", "render", "-f", file, "--row", "uid=acme").want(t, ui.ExitUsage, "", "has several templates: broken, second; name one of them")
	// What only the server can find out is told as it found it.
	applyText(t, ns, customers)
	applyText(t, ns, webTemplate+`status: {conditions: [{type: Valid, status: "False", reason: ValidationFailed, message: "the API has no kind Gadget", lastTransitionTime: "2026-01-02T15:04:05Z"}]}`+"\n")
	if got := yuba(t, ns, "tenant", "render", "web", "--row", "id=acme"); got.code != ui.ExitFailure || !strings.Contains(got.news, "Mistake: the API has no kind Gadget") || !strings.Contains(got.news, "it has 1 mistake") {
		t.Errorf("code %d: %s", got.code, got.news)
	}
	yuba(t, ns, "tenant", "render", "-f", file+".missing", "--row", "uid=acme").want(t, ui.ExitFailure, "", "read the template: ")
}

func TestWhatATemplateWouldChange(t *testing.T) {
	ns := company(t)
	yuba(t, ns, "tenant", "diff", "web").want(t, ui.ExitOK, "", "0 of 2 tenants would change.")
	next := strings.Replace(webTemplate, `{data: {plan: "{{ .planId }}"}}`, `{data: {plan: "{{ .planId | upper }}", host: "{{ .host }}"}}`, 1)
	next = next[:strings.Index(next, "  secrets:")] + `  - {id: more, nameTemplate: "{{ .uid }}-more", spec: {data: {x: y}}}` + "\n"
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	acme := `Tenant/NS/acme-web (uid "acme")
► ConfigMap/NS/acme-settings changed
  /data/host
    + acme.example.com
  /data/plan
    - pro
    + PRO
► ConfigMap/NS/acme-more created
► Secret/NS/acme-first kept
`
	got := yuba(t, ns, "tenant", "diff", "-f", file, "--tenant", "acme")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitDifferent, acme, "1 of 1 tenant would change.")
	got = yuba(t, ns, "tenant", "diff", "web", "-f", file, "--summary")
	got.out = columnsOf(got.out, ns)
	got.want(t, ui.ExitDifferent, "Tenant/NS/acme-web  1 to create, 1 to change, 1 to keep, unmanaged\nTenant/NS/beta-web  1 to create, 1 to change, 1 to keep, unmanaged\n", "2 of 2 tenants would change.")

	var answer []struct {
		UID     string
		Changes []any
	}
	got = yuba(t, ns, "tenant", "diff", "-f", file, "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || got.code != ui.ExitDifferent || len(answer) != 2 || answer[1].UID != "beta" || len(answer[1].Changes) != 3 {
		t.Errorf("code %d, %v: %s", got.code, err, got.out)
	}
	if strings.Contains(got.out, "s3cr3t") {
		t.Error("a secret is shown")
	}
	if err := os.WriteFile(file, []byte(strings.Replace(next, ".planId", ".nope", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	got = yuba(t, ns, "tenant", "diff", "-f", file)
	if got.code != ui.ExitDiffFailed || !strings.Contains(got.out, "✗ configMaps[settings]") || !strings.Contains(got.news, "does not render for 2 tenants") || strings.Contains(got.out, "settings deleted") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
	// What the server would refuse is no change, also for tenants that are as they would be.
	refused := strings.Replace(webTemplate, "  secrets:", `  - {id: circle, nameTemplate: "{{ .uid }}-circle", dependIds: [circle], spec: {data: {x: y}}}`+"\n  secrets:", 1)
	if err := os.WriteFile(file, []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
	yuba(t, ns, "tenant", "diff", "-f", file, "--tenant", "beta", "--summary").want(t, ui.ExitDiffFailed, "Tenant/"+ns+"/beta-web  1 to create\n", "Mistake: ", "circle", "the template has 1 mistake, and changes no tenant")
	ignored := strings.Replace(webTemplate, `spec: {data: {plan: "{{ .planId }}"}}`, `ignoreFields: ["$.data.plan"]`+"\n    spec: {data: {plan: other}}", 1)
	if err := os.WriteFile(file, []byte(ignored), 0o600); err != nil {
		t.Fatal(err)
	}
	yuba(t, ns, "tenant", "diff", "-f", file).want(t, ui.ExitOK, "", "0 of 2 tenants would change.")
	moved := strings.NewReplacer("  registryId: customers", "  registryId: customers\n  kubeConfig: {secretRef: {name: production}}", "deletionPolicy: Retain", "deletionPolicy: Delete").Replace(webTemplate)
	if err := os.WriteFile(file, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	got = yuba(t, ns, "tenant", "diff", "-f", file, "--tenant", "beta")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitDifferent, `Tenant/NS/beta-web (uid "beta")
► Tenant/NS/beta-web changed
  /spec/kubeConfig
    + secretRef:
    +   name: production
► Secret/NS/beta-first changed
  deletionPolicy
    - Retain
    + Delete
`)
	yuba(t, ns, "tenant", "diff", "nope").want(t, ui.ExitNotFound, "", "there is no such TenantTemplate")
	yuba(t, ns, "tenant", "diff", "web", "--tenant", "nope").want(t, ui.ExitOK, "", "has no such tenants")
}

func TestSecretsThatChangeAreNotShown(t *testing.T) {
	ns := company(t)
	next := strings.NewReplacer("creationPolicy: Once", "creationPolicy: WhenNeeded", "{password: s3cr3t}", "{password: n3xt, more: s3cr3t}").Replace(webTemplate)
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	got := yuba(t, ns, "tenant", "diff", "-f", file, "--tenant", "acme")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	got.want(t, ui.ExitDifferent, "Tenant/NS/acme-web (uid \"acme\")\n► Secret/NS/acme-first changed\n  creationPolicy\n    - Once\n    + WhenNeeded\n  /stringData/more\n    + ***\n  /stringData/password\n    - *** (before)\n    + *** (after)\n")
}
