// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// exampleFiles are the templates of the examples, nine of a published guide and the quickstart's.
var exampleFiles = []string{
	"tenants/s3.yaml", "tenants/rds.yaml", "tenants/cdn.yaml", "tenants/git.yaml", "tenants/kafka.yaml", "tenants/rabbitmq.yaml",
	"tenants/postgresql.yaml", "tenants/redis.yaml", "tenants/enterprise.yaml", "quickstart/tenants/template.yaml",
}

// exampleText reads a file of the examples.
func exampleText(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), "examples", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents reads the documents of a kind from a text, and refuses unknown fields.
func documents[T any](t testing.TB, text, kind string) []*T {
	t.Helper()
	var out []*T
	for document := range strings.SplitSeq(text, "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind != kind {
			continue
		}
		o := new(T)
		if err := yaml.UnmarshalStrict([]byte(document), o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		out = append(out, o)
	}
	return out
}

// exampleTemplate reads the one template of a text.
func exampleTemplate(t testing.TB, text string) *tenantv1.TenantTemplate {
	t.Helper()
	found := documents[tenantv1.TenantTemplate](t, text, tenantv1.TenantTemplateKind)
	if len(found) != 1 {
		t.Fatalf("there are %d templates", len(found))
	}
	found[0].Namespace = "default"
	return found[0]
}

// exampleRegistry finds the registry of a template.
func exampleRegistry(t testing.TB, template *tenantv1.TenantTemplate) *tenantv1.TenantRegistry {
	t.Helper()
	for _, file := range []string{"tenants/registry.yaml", "quickstart/tenants/registry.yaml"} {
		for _, registry := range documents[tenantv1.TenantRegistry](t, exampleText(t, file), "TenantRegistry") {
			if registry.Name == template.Spec.RegistryID {
				return registry
			}
		}
	}
	t.Fatalf("no registry of the examples is called %s", template.Spec.RegistryID)
	return nil
}

// exampleRow is a row with a uid, an address and other values.
func exampleRow(t testing.TB, registry *tenantv1.TenantRegistry, uid, address string) row.Row {
	t.Helper()
	mappings, extra := registry.Spec.ValueMappings, registry.Spec.ExtraValueMappings
	columns := map[string]*string{}
	for _, column := range extra {
		value := "large"
		columns[column] = &value
	}
	active := "1"
	columns[mappings.UID], columns[mappings.HostOrURL], columns[mappings.Activate] = &uid, &address, &active
	r, err := row.Map(columns, mappings, extra)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExamplesHaveNoMistakes(t *testing.T) {
	for _, file := range exampleFiles {
		t.Run(file, func(t *testing.T) {
			template := exampleTemplate(t, exampleText(t, file))
			registry := exampleRegistry(t, template)
			for _, s := range []Subject{
				{Template: template, Row: Sample(registry), Invented: true},
				{Template: template, Row: exampleRow(t, registry, "acme", "https://acme.example.com/shop")},
				{Template: template, Row: exampleRow(t, registry, "Acme & Söhne {{ .uid }}", "acme.example.com:8443")},
				{Template: template, Row: exampleRow(t, registry, strings.Repeat("x", 40), "x.example.com")},
			} {
				findings, err := Template(t.Context(), s, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range findings {
					t.Errorf("with the row %q: %s %s", s.Row.UID, f.Severity, f)
				}
			}
		})
	}
}

// No two objects of the examples are the same, so all can be applied together.
func TestExamplesGetAlongWithEachOther(t *testing.T) {
	taken := map[string]string{}
	for _, file := range exampleFiles {
		template := exampleTemplate(t, exampleText(t, file))
		r := exampleRow(t, exampleRegistry(t, template), "acme", "acme.example.com")
		tenant, err := Tenant(template, r, allocate.New().For(r.UID, nil))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects, errs := render.Objects(tenant)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", file, errs)
		}
		for _, o := range objects {
			name := o.Object.GetKind() + " " + o.Object.GetName()
			if other := taken[name]; other != "" {
				t.Errorf("%s is in %s and in %s", name, other, file)
			}
			taken[name] = file
		}
	}
}

// The rows in the examples' ConfigMap and table are equal.
func TestRowsOfTheExamplesAreThoseOfTheTable(t *testing.T) {
	text := exampleText(t, "tenants/registry.yaml")
	var rows []map[string]string
	if err := yaml.Unmarshal([]byte(documents[corev1.ConfigMap](t, text, "ConfigMap")[0].Data["rows.yaml"]), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 {
		t.Fatalf("there are %d rows", len(rows))
	}
	table := exampleText(t, "tenants/tenants.sql")
	for _, r := range rows {
		line := "('" + r["id"] + "', '" + r["url"] + "', " + r["is_active"] + ", '" + r["plan"] + "')"
		if !strings.Contains(table, line) {
			t.Errorf("the table has no %s", line)
		}
	}
}

// The mistakes of the published examples are found, with their places.
func TestMistakesOfThePublishedExamplesAreFound(t *testing.T) {
	for sentence, test := range map[string]struct {
		file, good, bad string
		want            []string
	}{
		"two arguments on the one line of a block": {"tenants/kafka.yaml",
			"variable \"kafka_password\" {\n                type      = string\n                sensitive = true\n              }",
			`variable "kafka_password" { type = string sensitive = true }`, []string{"manifests[kafka-resources]: main.tf:34"}},
		"a password's output on one line": {"tenants/enterprise.yaml",
			"output \"db_password\" {\n                value     = random_password.db_password.result\n                sensitive = true\n              }",
			`output "db_password" { value = random_password.db_password.result sensitive = true }`, []string{"manifests[tenant-infrastructure]: main.tf:"}},
		"a number that is made of a hash": {"tenants/redis.yaml", `'{{ int (allocate "redis" 1 15) }}'`, `"{{ .uid | sha1sum | trunc 2 }}"`,
			[]string{"manifests[redis-database]", `variable "redis_db_number"`}},
		"a key that is no output": {"tenants/rds.yaml", "key: db_host", "key: db_endpoint", []string{"deployments[app-deploy]", "db_endpoint", "blue-db-credentials"}},
		"a variable that the program does not declare": {"tenants/s3.yaml", "- name: bucket_prefix", "- name: prefix",
			[]string{"manifests[s3-bucket]", `not declare a variable "prefix"`}},
		"a stack without a program": {"tenants/git.yaml", "          sourceRef:\n            kind: GitRepository\n            name: terraform-modules\n", "",
			[]string{"manifests[tenant-infrastructure]", "the stack has no program"}},
		"a dependency that is not there": {"tenants/s3.yaml", `dependIds: ["s3-bucket", "app-config"]`, `dependIds: ["s3"]`,
			[]string{"deployments[app-deploy]", `"s3"`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			text := exampleText(t, test.file)
			if !strings.Contains(text, test.good) {
				t.Fatalf("%s has no\n%s", test.file, test.good)
			}
			template := exampleTemplate(t, strings.ReplaceAll(text, test.good, test.bad))
			findings, err := Template(t.Context(), Subject{Template: template, Row: exampleRow(t, exampleRegistry(t, template), "blue", "blue.example.com")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			told := Summary(findings)
			for _, word := range test.want {
				if !strings.Contains(told, word) {
					t.Errorf("the findings lack %q:\n%s", word, told)
				}
			}
		})
	}
}

// Every example is explained.
func TestReadmeHasASectionForEachExample(t *testing.T) {
	readme := exampleText(t, "tenants/README.md")
	for _, file := range exampleFiles {
		name, ours := strings.CutPrefix(file, "tenants/")
		if ours && !strings.Contains(readme, "]("+name+")\n\n") {
			t.Errorf("the README has no section about %s", file)
		}
	}
}
