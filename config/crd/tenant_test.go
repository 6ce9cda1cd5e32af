// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

const (
	tenantRegistries = "operator.kubernetes-tenants.org_tenantregistries.yaml"
	tenantTemplates  = "operator.kubernetes-tenants.org_tenanttemplates.yaml"
	tenants          = "operator.kubernetes-tenants.org_tenants.yaml"
)

func TestTenantKindsHaveTheNamesAndColumnsPeopleKnow(t *testing.T) {
	for file, want := range map[string]struct {
		kind    string
		columns []string
	}{
		tenantRegistries: {"TenantRegistry", []string{
			"Desired integer .status.desired", "Ready integer .status.ready", "Failed integer .status.failed",
			"Status string .status.conditions[?(@.type=='Ready')].status", "Age date .metadata.creationTimestamp"}},
		tenantTemplates: {"TenantTemplate", []string{
			"Registry string .spec.registryId", "Total integer .status.totalTenants", "Ready integer .status.readyTenants",
			"Applied string .status.conditions[?(@.type=='Applied')].status", "Age date .metadata.creationTimestamp"}},
		tenants: {"Tenant", []string{
			"UID string .spec.uid", "Template string .spec.templateRef", "Ready integer .status.readyResources", "Desired integer .status.desiredResources",
			"Conflicted string .status.conditions[?(@.type=='Conflicted')].status", "Conditions string .status.conditions[?(@.type=='Ready')].reason",
			"Age date .metadata.creationTimestamp"}},
	} {
		t.Run(want.kind, func(t *testing.T) {
			d := load(t, file)
			v := d.version
			if d.Spec.Group != "operator.kubernetes-tenants.org" || d.Spec.Names.Kind != want.kind || v.Name != "v1" || !v.Served || !v.Storage ||
				d.Spec.Scope != apiextensionsv1.NamespaceScoped || v.Subresources == nil || v.Subresources.Status == nil || len(d.Spec.Versions) != 1 {
				t.Errorf("definition is %+v", d.Spec.Names)
			}
			var columns []string
			for _, c := range v.AdditionalPrinterColumns {
				columns = append(columns, c.Name+" "+c.Type+" "+c.JSONPath)
			}
			if diff := cmp.Diff(want.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}

// publishedLists are the lists of templates and tenants that the Tenant Operator has.
var publishedLists = []string{
	"serviceAccounts", "deployments", "statefulSets", "daemonSets", "services", "ingresses", "configMaps", "secrets", "persistentVolumeClaims", "jobs",
	"cronJobs", "podDisruptionBudgets", "networkPolicies", "horizontalPodAutoscalers", "manifests",
}

// publishedFields are what the Tenant Operator's users can write and read: path, type, default, and values.
var publishedFields = map[string][]string{
	tenantRegistries: {
		"spec.source object", "spec.source.type string", `spec.source.syncInterval string "30s"`, "spec.source.mysql object",
		"spec.source.mysql.host string", "spec.source.mysql.port integer 3306", "spec.source.mysql.username string",
		"spec.source.mysql.passwordRef object", "spec.source.mysql.passwordRef.name string", "spec.source.mysql.passwordRef.key string",
		"spec.source.mysql.database string", "spec.source.mysql.table string",
		"spec.valueMappings object", "spec.valueMappings.uid string", "spec.valueMappings.hostOrUrl string", "spec.valueMappings.activate string",
		"spec.extraValueMappings object",
		"status.observedGeneration integer", "status.referencingTemplates integer", "status.desired integer", "status.ready integer", "status.failed integer",
		"status.conditions array",
	},
	tenantTemplates: {
		"spec.registryId string", "status.observedGeneration integer", "status.totalTenants integer", "status.readyTenants integer", "status.conditions array",
	},
	tenants: {
		"spec.uid string", "spec.templateRef string", "status.observedGeneration integer", "status.readyResources integer", "status.desiredResources integer",
		"status.failedResources integer", "status.appliedResources array", "status.conditions array",
	},
}

// publishedResource are the fields of one resource of a list.
var publishedResource = []string{
	"id string", "spec object", "dependIds array", `creationPolicy string "WhenNeeded" Once,WhenNeeded`, `deletionPolicy string "Delete" Delete,Retain`,
	`conflictPolicy string "Stuck" Force,Stuck`, "nameTemplate string", "targetNamespace string", "labelsTemplate object", "annotationsTemplate object",
	"waitForReady boolean true", "timeoutSeconds integer 300", `patchStrategy string "apply" apply,merge,replace`, "ignoreFields array",
}

// fieldsOf lists a schema's fields as publishedFields does.
func fieldsOf(props apiextensionsv1.JSONSchemaProps) map[string]string {
	fields := map[string]string{}
	walk("", props, func(path string, p apiextensionsv1.JSONSchemaProps) {
		path = strings.TrimPrefix(path, ".")
		parts := []string{path, p.Type}
		if p.Default != nil {
			parts = append(parts, string(p.Default.Raw))
		}
		if len(p.Enum) > 0 {
			var values []string
			for _, v := range p.Enum {
				values = append(values, strings.Trim(string(v.Raw), `"`))
			}
			slices.Sort(values)
			parts = append(parts, strings.Join(values, ","))
		}
		fields[path] = strings.Join(parts, " ")
	})
	return fields
}

func TestEveryPublishedFieldIsThereAsItWas(t *testing.T) {
	for file, published := range publishedFields {
		t.Run(file, func(t *testing.T) {
			d := load(t, file)
			got := fieldsOf(*d.version.Schema.OpenAPIV3Schema)
			want := slices.Clone(published)
			if file != tenantRegistries {
				for _, list := range publishedLists {
					want = append(want, "spec."+list+" array")
					for _, field := range publishedResource {
						want = append(want, "spec."+list+"[]."+field)
					}
				}
			}
			for _, field := range want {
				path, _, _ := strings.Cut(field, " ")
				if path == "spec.source.type" {
					continue // it has more values now
				}
				if got[path] != field {
					t.Errorf("the published field is %q, and here it is %q", field, got[path])
				}
			}
		})
	}
}

func TestNothingIsRequiredThatWasNot(t *testing.T) {
	required := func(file, path string) []string {
		props := *load(t, file).version.Schema.OpenAPIV3Schema
		var names []string
		walk("", props, func(p string, s apiextensionsv1.JSONSchemaProps) {
			if p == path {
				names = s.Required
				if s.Items != nil {
					names = s.Items.Schema.Required
				}
			}
		})
		slices.Sort(names)
		return names
	}
	for _, c := range []struct {
		file, path string
		want       []string
	}{
		{tenantRegistries, ".spec", []string{"source", "valueMappings"}},
		{tenantRegistries, ".spec.source", []string{"syncInterval", "type"}},
		{tenantRegistries, ".spec.source.mysql", []string{"database", "host", "port", "table", "username"}},
		// The address was required, and is not any more.
		{tenantRegistries, ".spec.valueMappings", []string{"activate", "uid"}},
		{tenantTemplates, ".spec", []string{"registryId"}},
		{tenantTemplates, ".spec.manifests", []string{"id", "spec"}},
		{tenants, ".spec", []string{"templateRef", "uid"}},
		{tenants, ".spec.configMaps", []string{"id", "spec"}},
	} {
		if diff := cmp.Diff(c.want, required(c.file, c.path)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.file, c.path, diff)
		}
	}
}

func TestWhatIsMoreThanPublishedSaysSo(t *testing.T) {
	for file, published := range publishedFields {
		known := map[string]bool{"spec": true, "status": true, "apiVersion": true, "kind": true, "metadata": true}
		for _, field := range published {
			path, _, _ := strings.Cut(field, " ")
			known[path] = true
		}
		for _, list := range publishedLists {
			known["spec."+list] = true
			for _, field := range publishedResource {
				name, _, _ := strings.Cut(field, " ")
				known["spec."+list+"[]."+name] = true
			}
		}
		walk("", *load(t, file).version.Schema.OpenAPIV3Schema, func(path string, p apiextensionsv1.JSONSchemaProps) {
			path = strings.TrimPrefix(path, ".")
			// Whatever is below an addition is one, too.
			parent := path[:max(0, strings.LastIndex(path, "."))]
			if known[path] || parent != "" && !known[strings.TrimSuffix(parent, "[]")] && !known[parent] || strings.Contains(path, "conditions[]") {
				return
			}
			if !strings.Contains(p.Description, "Addition of Yuba") && !strings.Contains(p.Description, "Addition of Lynq") {
				t.Errorf("%s of %s is not published, and does not say so: %q", path, file, p.Description)
			}
		})
	}
}

func TestExplainHelpsOnTenants(t *testing.T) {
	for file := range publishedFields {
		walk("", *load(t, file).version.Schema.OpenAPIV3Schema, func(path string, props apiextensionsv1.JSONSchemaProps) {
			if path == ".metadata" || strings.Contains(path, ".status.conditions[]") || strings.Contains(path, ".spec.rollout.canary.") ||
				strings.Contains(path, ".spec.kubeConfig.") {
				return
			}
			if len(strings.Fields(props.Description)) < 3 {
				t.Errorf("%s of %s is described as %q", path, file, props.Description)
			}
		})
	}
}

func TestTheSmallestTemplateGetsThePublishedDefaults(t *testing.T) {
	d := load(t, tenantTemplates)
	object := decode(t, []byte(`
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: small, namespace: default}
spec:
  registryId: shop
  rollout: {}
  configMaps:
  - {id: a, spec: {data: {who: "{{ .uid }}"}}}
`))
	if unknown, errs := d.admit(t, object); len(unknown) != 0 || len(errs) != 0 {
		t.Fatalf("unknown fields %v, errors %v", unknown, errs)
	}
	want := decode(t, []byte(`
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: small, namespace: default}
spec:
  registryId: shop
  rollout: {maxSkew: 0, progressDeadlineSeconds: 600}
  configMaps:
  - id: a
    spec: {data: {who: "{{ .uid }}"}}
    conflictPolicy: Stuck
    creationPolicy: WhenNeeded
    deletionPolicy: Delete
    patchStrategy: apply
    skipOnDependencyFailure: true
    timeoutSeconds: 300
    waitForReady: true
`))
	if diff := cmp.Diff(toYAML(t, want), toYAML(t, object)); diff != "" {
		t.Errorf("with defaults (-want +got):\n%s", diff)
	}
}

func TestEveryGracePeriodThatPassesDecodes(t *testing.T) {
	d := load(t, tenantRegistries)
	grace := d.schema.Properties["spec"].Properties["protection"].Properties["gracePeriod"]
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var duration metav1.Duration
		if err := json.Unmarshal(quoted, &duration); err != nil || duration.Duration < 0 {
			t.Fatalf("%q passes and does not decode: %v, %v", text, duration.Duration, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching(grace.ValueValidation.Pattern).Filter(func(s string) bool { return len([]rune(s)) <= 20 }).Draw(t, "duration"))
	})
	check(t, "0s")
}
