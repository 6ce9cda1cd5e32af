// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// manifests are the manifests of objects.
func manifests(objects []Object) []map[string]any {
	out := []map[string]any{}
	for _, o := range objects {
		out = append(out, o.Object.Object)
	}
	return out
}

func TestObjects(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"a kind that the list says, a name beside the manifest": {
			`{configMaps: [{id: c, nameTemplate: "{{ .uid }}-config", spec: {data: {url: "{{ .hostOrUrl }}", num: "{{ int .replicas }}", l: "{{ splitList \",\" .zones }}"}}}]}`,
			`[{apiVersion: v1, kind: ConfigMap, metadata: {name: acme-config, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   data: {url: "https://acme.example.org:8443/shop", num: "3", l: "[a b]"}}]`,
		},
		"numbers and truths where they are all of a text": {
			`{deployments: [{id: d, nameTemplate: d, spec: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: "{{ int .replicas }}", paused: "{{ bool .none }}", half: "{{ float \"0.5\" }}",
			   literal: 2, image: "shop:{{ int .replicas }}", selector: {matchLabels: {num: "{{ int .replicas }}"}},
			   template: {metadata: {labels: {num: "{{ int .replicas }}"}, annotations: {b: "{{ bool .none }}"}}, spec: {nodeSelector: {num: "{{ int 1 }}"}, priority: "{{ int 7 }}"}}}}}]}`,
			`[{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   spec: {replicas: 3, paused: false, half: 0.5, literal: 2, image: "shop:3", selector: {matchLabels: {num: "3"}},
			   template: {metadata: {labels: {num: "3"}, annotations: {b: "false"}}, spec: {nodeSelector: {num: "1"}, priority: 7}}}}]`,
		},
		"labels and annotations are put beside those of the manifest": {
			`{services: [{id: s, nameTemplate: s, labelsTemplate: {a: beside, kubernetes-tenants.org/uid: other}, annotationsTemplate: {tier: "{{ .tier }}"},
			   spec: {metadata: {labels: {a: manifest, b: "{{ .tier }}"}, annotations: {c: d}}, spec: {selector: {num: "{{ int 1 }}"}, ports: [{port: "{{ int 80 }}"}]}}}]}`,
			`[{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shops, labels: {a: beside, b: gold, kubernetes-tenants.org/uid: acme}, annotations: {c: d, tier: gold}},
			   spec: {selector: {num: "1"}, ports: [{port: 80}]}}]`,
		},
		"a name in the manifest, another namespace": {
			`{secrets: [{id: s, targetNamespace: "{{ .ns }}", spec: {metadata: {name: "{{ .uid }}-s", namespace: acme-apps}, stringData: {hostile: "{{ .hostile }}"}}}]}`,
			`[{apiVersion: v1, kind: Secret, metadata: {name: acme-s, namespace: acme-apps, labels: {kubernetes-tenants.org/uid: acme}}, stringData: {hostile: "{{ .uid }}\n\"}: [x"}}]`,
		},
		"a namespace is in none": {
			`{namespaces: [{id: space, nameTemplate: "{{ .ns }}", targetNamespace: elsewhere, spec: {metadata: {namespace: elsewhere, labels: null}}}]}`,
			`[{apiVersion: v1, kind: Namespace, metadata: {name: acme-apps, labels: {kubernetes-tenants.org/uid: acme}}}]`,
		},
		"a kind that needs no manifest": {
			`{serviceAccounts: [{id: a, nameTemplate: "{{ .uid }}", spec: {}}]}`,
			`[{apiVersion: v1, kind: ServiceAccount, metadata: {name: acme, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}}]`,
		},
		"a manifest's own version of the kind": {
			`{horizontalPodAutoscalers: [{id: h, nameTemplate: h, spec: {apiVersion: autoscaling/v1, metadata: null}}]}`,
			`[{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}}]`,
		},
		"a stack applies its plans, and destroys when its object goes": {
			`{manifests: [{id: t, nameTemplate: "{{ .uid }}-infra", spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {interval: 5m,
			   writeOutputsToSecret: {name: "{{ .uid }}-outputs", labels: {num: "{{ int 1 }}"}}, values: {hcl: "x = \"${var.y}\"\n# {{ .uid }}\n"}, vars: [{name: zones, value: "{{ splitList \",\" .zones }}"}, {name: count, value: "{{ int .replicas }}"}]}}}]}`,
			`[{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: acme-infra, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   spec: {interval: 5m, approvePlan: auto, destroyResourcesOnDeletion: true, writeOutputsToSecret: {name: acme-outputs, labels: {num: "1"}},
			   values: {hcl: "x = \"${var.y}\"\n# acme\n"}, vars: [{name: zones, value: [a, b]}, {name: count, value: 3}]}}]`,
		},
		"a stack that is kept does not destroy": {
			`{manifests: [{id: t, nameTemplate: t, deletionPolicy: Retain, spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {approvePlan: null}}}]}`,
			`[{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: t, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   spec: {approvePlan: auto, destroyResourcesOnDeletion: false}}]`,
		},
		"a stack that says otherwise": {
			`{manifests: [{id: t, nameTemplate: t, deletionPolicy: Retain, spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {approvePlan: "", destroyResourcesOnDeletion: true}}}]}`,
			`[{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: t, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   spec: {approvePlan: "", destroyResourcesOnDeletion: true}}]`,
		},
		"a stack's own templates are left to it": {
			`{manifests: [{id: t, nameTemplate: t, spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {approvePlan: x, destroyResourcesOnDeletion: false, path: "x${{ .tier }}",
			   values: {a: "${{ .vpc.id }}-{{ .uid }}", b: ["${{ index .vpc \"{{ .uid }}\" }}", "{{ int 3 }}"]}, healthChecks: [{url: "${{ .url }}/{{ .tier }}"}]}}}]}`,
			`[{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: t, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}},
			   spec: {approvePlan: x, destroyResourcesOnDeletion: false, path: "x$gold", values: {a: "${{ .vpc.id }}-acme", b: ["${{ index .vpc \"acme\" }}", 3]}, healthChecks: [{url: "${{ .url }}/gold"}]}}]`,
		},
		"another kind of that name": {
			`{manifests: [{id: t, nameTemplate: t, spec: {apiVersion: example.org/v1, kind: Terraform, spec: {num: "{{ allocate \"redis\" 0 15 | int }}"}, data: {num: "{{ int 1 }}"}}}]}`,
			`[{apiVersion: example.org/v1, kind: Terraform, metadata: {name: t, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}, spec: {num: 4}, data: {num: 1}}]`,
		},
		"the order of the lists": {
			`{manifests: [{id: m, nameTemplate: m, spec: {apiVersion: v1, kind: ConfigMap}}], secrets: [{id: b, nameTemplate: b, spec: {kind: Secret}}, {id: a, nameTemplate: a, spec: {kind: Secret}}]}`,
			`[{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}},
			  {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}},
			  {apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: shops, labels: {kubernetes-tenants.org/uid: acme}}}]`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			tenant := tenantOf(t, templateOf(t, strings.ReplaceAll(test.in, "\t", " ")), acme(), pools{"redis": 4})
			before := tenant.DeepCopy()
			objects, errs := Objects(tenant)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			same(t, manifests(objects), strings.ReplaceAll(test.want, "\t", " "))
			if diff := cmp.Diff(before, tenant); diff != "" {
				t.Errorf("the tenant has changed:\n%s", diff)
			}
			for _, o := range objects {
				o.Object.SetLabels(nil)
				if spec, ok := o.Object.Object["spec"].(map[string]any); ok {
					clear(spec)
				}
			}
			if diff := cmp.Diff(before, tenant); diff != "" {
				t.Errorf("objects share something with the tenant:\n%s", diff)
			}
		})
	}
}

// TestOneBrokenResourceKeepsNoOther has a valid resource between broken ones.
func TestOneBrokenResourceKeepsNoOther(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"a value that is not there":     {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, data: {a: "{{ .nope }}"}}}`, "manifests[x].spec.data.a: .nope has no value"},
		"a line of a program":           {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, data: {a: "x\n  {{ .nope }}\n"}}}`, "manifests[x].spec.data.a:2:5: .nope has no value"},
		"no manifest":                   {`{id: x, nameTemplate: x, spec: {}}`, "manifests[x].spec: it has no manifest"},
		"no kind":                       {`{id: x, nameTemplate: x, spec: {apiVersion: v1}}`, "manifests[x].spec: manifests take any kind: the manifest needs apiVersion and kind"},
		"no version":                    {`{id: x, nameTemplate: x, spec: {kind: Secret}}`, "manifests[x].spec: manifests take any kind: the manifest needs apiVersion and kind"},
		"a version that is none":        {`{id: x, nameTemplate: x, spec: {apiVersion: a/b/c, kind: Secret}}`, `manifests[x].spec.apiVersion: "a/b/c" is not a version of an API, such as v1 or apps/v1`},
		"no name":                       {`{id: x, spec: {apiVersion: v1, kind: Secret}}`, "manifests[x]: the object has no name; write nameTemplate, or spec.metadata.name"},
		"a name that leads elsewhere":   {`{id: x, nameTemplate: "../{{ .uid }}", spec: {apiVersion: v1, kind: Secret}}`, `manifests[x]: "../acme" is not a valid name: it is "." or "..", or contains "/" or "%"`},
		"a name without end":            {`{id: x, nameTemplate: "{{ repeat 254 \"x\" }}", spec: {apiVersion: v1, kind: Secret}}`, "manifests[x]: the object's name has 254 characters; the limit is 253"},
		"a namespace that is none":      {`{id: x, nameTemplate: x, targetNamespace: "{{ .hostOrUrl }}", spec: {apiVersion: v1, kind: Secret}}`, `manifests[x].targetNamespace: "https://acme.example.org:8443/shop" is not a valid namespace: use lower case letters, digits and "-", at most 63`},
		"two namespaces":                {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, metadata: {namespace: a}}}`, `manifests[x].spec.metadata.namespace: it is "a", but the object's namespace is "shops"; for another namespace than the tenant's, set targetNamespace`},
		"metadata that are none":        {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, metadata: [a]}}`, "manifests[x].spec.metadata: it is not an object"},
		"a label that is a number":      {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, metadata: {labels: {a: "1", num: 1}}}}`, "manifests[x].spec.metadata.labels.num: it is not a text; put it in quotes"},
		"labels that are none":          {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, metadata: {labels: none}}}`, "manifests[x].spec.metadata.labels: it is not an object of texts"},
		"a value before a number":       {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, a: "{{ .nope }}", data: {num: "{{ allocate \"p\" 0 1 }}"}}}`, "manifests[x].spec.a: .nope has no value"},
		"an id that is there twice":     {`{id: good, nameTemplate: x, spec: {apiVersion: v1, kind: Secret}}`, "manifests[good]: the id is also that of configMaps[good]; ids must be unique in a template"},
		"an object that is there twice": {`{id: x, nameTemplate: "{{ .uid }}-good", spec: {apiVersion: v1, kind: ConfigMap}}`, "manifests[x]: it is the same object as the one with the id good: ConfigMap shops/acme-good"},
		"too much work":                 {`{id: x, nameTemplate: x, spec: {apiVersion: v1, kind: Secret, data: {num: "{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}"}}}`, "manifests[x].spec.data.num: it takes too much time or memory; loop over less, or make shorter texts"},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := "configMaps: [{id: good, nameTemplate: \"{{ .uid }}-good\", spec: {kind: ConfigMap}}]\nmanifests:\n- " + test.in +
				"\n- {id: last, nameTemplate: last, spec: {apiVersion: v1, kind: Secret}}\n"
			objects, errs := Objects(tenantOf(t, templateOf(t, in), acme(), nil))
			var ids []string
			for _, o := range objects {
				ids = append(ids, o.ID+" "+o.Where)
			}
			if diff := cmp.Diff([]string{"good configMaps[good]", "last manifests[last]"}, ids); diff != "" {
				t.Error(diff)
			}
			if len(errs) != 1 || errs[0].Error() != test.want || errs[0].ID != "x" && errs[0].ID != "good" {
				t.Errorf("got %v", errs)
			}
		})
	}
}

func TestNumbersComeFromTheTenant(t *testing.T) {
	tenant := tenantOf(t, templateOf(t, `{configMaps: [{id: c, nameTemplate: c, spec: {data: {num: "{{ allocate \"redis\" 0 15 }}"}}}]}`), acme(), pools{"redis": 4})
	tenant.Spec.Allocations["redis"] = 99 // the template allowed more earlier
	objects, errs := Objects(tenant)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if n, _, _ := unstructured.NestedString(objects[0].Object.Object, "data", "num"); n != "99" {
		t.Errorf("n is %q", n)
	}
	tenant.Spec.Allocations = nil
	_, errs = Objects(tenant)
	want := `configMaps[c].spec.data.num: the tenant has no number from the pool "redis" yet; the next sync of its registry allocates it`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v", errs)
	}
}

// TestTenantsOfThePublishedOperator: its Tenants are readable, and rendered values are not rendered
// again.
func TestTenantsOfThePublishedOperator(t *testing.T) {
	tenant := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "acme-web", Labels: map[string]string{tenantv1.LabelRegistry: "customers", tenantv1.LabelUID: "acme"},
		Annotations: map[string]string{tenantv1.AnnotationHostOrURL: "acme.example.org:80", tenantv1.AnnotationActivate: "1", tenantv1.AnnotationExtra: `{"planId":"pro"}`}}}
	tenant.Spec.UID, tenant.Spec.TemplateRef = "acme", "web"
	tenant.Spec.ConfigMaps = []tenantv1.TResource{{ID: "c", NameTemplate: "acme-c", LabelsTemplate: map[string]string{"x": "{{ .uid }}"},
		Spec: unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"host": "{{ .host }} {{ .planId }} {{ .activate }} {{ .registryId }}"}}}}}
	objects, errs := Objects(tenant)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	same(t, manifests(objects), `[{apiVersion: v1, kind: ConfigMap, metadata: {name: acme-c, namespace: default, labels: {x: "{{ .uid }}", kubernetes-tenants.org/uid: acme}},
  data: {host: acme.example.org pro 1 customers}}]`)

	tenant.Annotations[tenantv1.AnnotationExtra] = `["pro"]`
	objects, errs = Objects(tenant)
	if len(objects) > 0 || len(errs) != 1 || errs[0].ID != "" || !strings.Contains(errs[0].Error(), tenantv1.AnnotationExtra+" is not a JSON object") || strings.Contains(errs[0].Error(), "pro\"") {
		t.Errorf("%v, %v", objects, errs)
	}
}

// TestErrorsShowNoValues renders the errors of functions.
func TestErrorsShowNoValues(t *testing.T) {
	r := acme()
	r.Extra["password"] = "s3cr3t"
	for _, in := range []string{`{{ int .password }}`, `{{ bool .password }}`, `{{ mustFromJson .password }}`, `{{ .password.x }}`, `{{ semver .password }}`, `{{ index .password .password }}`, `{{ range .password }}{{ end }}`} {
		template := templateOf(t, fmt.Sprintf(`{configMaps: [{id: c, nameTemplate: c, spec: {data: {num: %q}}}]}`, in))
		_, errs := Objects(tenantOf(t, template, r, nil))
		if len(errs) != 1 || strings.Contains(errs[0].Error(), "s3cr3t") {
			t.Errorf("%s: %v", in, errs)
		}
	}
}

// FuzzObjects: any text of a row is only text, in the places of the template.
func FuzzObjects(f *testing.F) {
	for _, seed := range []string{"gold", "{{ .uid }}", "{{ fail \"x\" }}", "a: b\n- c", "\"}]", "${x}", "%{ for x in y }", "\x00", "true", "3", "../..", strings.Repeat("x", 5000)} {
		f.Add(seed, "acme")
		f.Add("gold", seed)
	}
	f.Fuzz(func(t *testing.T, value, uid string) {
		r := acme()
		r.UID, r.SafeUID, r.Extra = uid, row.SafeUID(uid), map[string]string{"value": value}
		tenant := tenantOf(t, templateOf(t, `{configMaps: [{id: c, nameTemplate: "{{ .uid }}-c", annotationsTemplate: {v: "{{ .value }}"}, spec: {data: {v: "{{ .value }}", u: "{{ .uid }}"}}}]}`), r, nil)
		objects, errs := Objects(tenant)
		if len(errs) > 0 {
			t.Fatalf("%q of %q: %v", value, uid, errs)
		}
		o := objects[0].Object
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		if err != nil || len(data) != 2 || utf8.ValidString(value) && (data["v"] != value || o.GetAnnotations()["v"] != value) {
			t.Errorf("%q gives %q, %v", value, data, err)
		}
		if safe := row.SafeUID(uid); o.GetLabels()[tenantv1.LabelUID] != safe || o.GetName() != safe+"-c" || data["u"] != safe {
			t.Errorf("the object of %q is %s with %v", uid, o.GetName(), o.GetLabels())
		}
	})
}
