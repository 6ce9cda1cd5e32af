// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tenants/row"
)

func TestTenant(t *testing.T) {
	template := templateOf(t, `
deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  targetNamespace: "{{ .ns }}"
  labelsTemplate: {tier: "{{ .tier }}", raw: "{{ .rawUid | sha1sum | trunc 8 }}"}
  annotationsTemplate: {host: "{{ .host }}", from: "{{ .registryId }}/{{ .templateRef }}"}
  dependIds: [config]
  timeoutSeconds: 60
  spec: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: "{{ int .replicas }}", ports: "{{ allocate \"port\" 1 99 | int }}"}}
configMaps:
- id: config
  nameTemplate: "{{ .hostile | sha1sum | trunc63 }}"
  annotationsTemplate: {hostile: "{{ .hostile }}"}
  spec: {data: {url: "{{ .hostOrUrl }}", redis: "{{ allocate \"redis\" 0 15 }}", broken: "{{ .nope }}"}}
`)
	template.Spec.KubeConfig = &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "target"}}
	before := template.DeepCopy()
	spec, err := Tenant(template, acme(), pools{"redis": 4, "port": 42})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template has changed:\n%s", diff)
	}
	same(t, spec, `
uid: acme
templateRef: web
kubeConfig: {secretRef: {name: target}}
allocations: {port: 42}
deployments:
- id: app
  nameTemplate: acme-app
  targetNamespace: acme-apps
  labelsTemplate: {tier: gold, raw: 293abb6b}
  annotationsTemplate: {host: acme.example.org, from: customers/web}
  dependIds: [config]
  timeoutSeconds: 60
  spec: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: "{{ int .replicas }}", ports: "{{ allocate \"port\" 1 99 | int }}"}}
configMaps:
- id: config
  nameTemplate: bf82d8b1260e3756cba62bd1fe65e14cdc019284
  annotationsTemplate: {hostile: "{{ .uid }}\n\"}: [x"}
  spec: {data: {url: "{{ .hostOrUrl }}", redis: "{{ allocate \"redis\" 0 15 }}", broken: "{{ .nope }}"}}
`)
}

// TestAllocationsOfAManifest: each pool of a manifest is asked once per name, and a full one is an
// error of the tenant.
func TestAllocationsOfAManifest(t *testing.T) {
	template := templateOf(t, `
manifests:
- id: a
  nameTemplate: a
  spec: {apiVersion: v1, kind: ConfigMap, data: {one: "{{ allocate \"a\" 0 9 }}", two: "{{ allocate \"a\" 0 9 }}{{ range list \"b\" \"c\" }}{{ allocate . 0 9 }}{{ end }}"}}
- id: b
  nameTemplate: "b-{{ allocate \"d\" 0 9 }}"
  spec: {apiVersion: v1, kind: ConfigMap}
`)
	spec, err := Tenant(template, acme(), pools{"a": 1, "b": 2, "c": 3, "d": 4})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4}, spec.Allocations); diff != "" {
		t.Error(diff)
	}
	for sentence, test := range map[string]struct {
		allocator Allocator
		want      string
	}{
		"a pool that a manifest uses is full": {pools{"a": 1, "c": 3, "d": 4}, "manifests[a].spec.data.two: the pool b has no number left"},
		"a pool that a name uses is full":     {pools{"a": 1, "b": 2, "c": 3}, "manifests[b].nameTemplate: the pool d has no number left"},
		"nobody allocates": {nil, `manifests[a].spec.data.one: numbers of the pool "a" cannot be allocated here; ` +
			`manifests[b].nameTemplate: numbers of the pool "d" cannot be allocated here`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if spec, err := Tenant(template, acme(), test.allocator); err == nil || err.Error() != test.want || spec != nil {
				t.Errorf("%v, %v", spec, err)
			}
		})
	}
}

func TestTenantSaysWhatIsWrong(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"a name without its value":      {`{secrets: [{id: x, nameTemplate: "{{ .nope }}", spec: {}}]}`, "secrets[x].nameTemplate: .nope has no value"},
		"a name that is nothing":        {`{secrets: [{id: x, nameTemplate: "{{ .none }}", spec: {}}]}`, "secrets[x].nameTemplate: the name is empty for this row"},
		"a label":                       {`{secrets: [{id: x, nameTemplate: x, labelsTemplate: {a: "{{ .no }}"}, spec: {}}]}`, "secrets[x].labelsTemplate.a: .no has no value"},
		"a namespace":                   {`{secrets: [{id: x, nameTemplate: x, targetNamespace: "{{", spec: {}}]}`, "secrets[x].targetNamespace: unclosed action"},
		"two resources":                 {`{secrets: [{id: x, nameTemplate: "{{ .a }}", spec: {}}], jobs: [{id: z, nameTemplate: "{{ .b }}", spec: {}}]}`, "secrets[x].nameTemplate: .a has no value; jobs[z].nameTemplate: .b has no value"},
		"a manifest is no concern here": {`{secrets: [{id: x, nameTemplate: x, spec: {a: "{{ .nope }}", b: "{{ allocate"}}]}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Tenant(templateOf(t, test.in), acme(), nil)
			var all Errors
			if test.want == "" && err != nil || test.want != "" && (!errors.As(err, &all) || err.Error() != test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestManyErrorsAreTold(t *testing.T) {
	var lists strings.Builder
	lists.WriteString("secrets:\n")
	for i := range 9 {
		fmt.Fprintf(&lists, "- {id: s%d, nameTemplate: \"{{ .nope }}\", spec: {}}\n", i)
	}
	_, err := Tenant(templateOf(t, lists.String()), acme(), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "; and 4 more") || strings.Count(err.Error(), "nope") != 5 {
		t.Errorf("%v", err)
	}
	var one Error
	if !errors.As(err, &one) || one.ID != "s0" {
		t.Errorf("the first error is %+v", one)
	}
}

func TestMappedValuesWin(t *testing.T) {
	r := acme()
	r.Extra = map[string]string{"host": "own", "templateRef": "mine"}
	template := templateOf(t, `{secrets: [{id: x, nameTemplate: "{{ .host }}-{{ .templateRef }}-{{ .uid }}", spec: {}}]}`)
	spec, err := Tenant(template, r, nil)
	if err != nil || spec.Secrets[0].NameTemplate != "own-mine-acme" {
		t.Errorf("%+v, %v", spec, err)
	}
}

func TestUIDsInTemplatesAreSafe(t *testing.T) {
	const raw = "Acme Corp."
	r := acme()
	r.UID, r.SafeUID = raw, row.SafeUID(raw)
	spec, err := Tenant(templateOf(t, `{secrets: [{id: x, nameTemplate: "{{ .uid }}", annotationsTemplate: {raw: "{{ .rawUid }}"}, spec: {}}]}`), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if spec.UID != raw || spec.Secrets[0].NameTemplate != "acme-corp-x2c074cd39d72c02d" || spec.Secrets[0].AnnotationsTemplate["raw"] != raw {
		t.Errorf("%+v", spec)
	}
}
