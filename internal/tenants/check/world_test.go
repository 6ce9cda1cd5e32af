// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectOf reads a JSON object; anything else is empty.
func objectOf(data []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(data, &object) != nil {
		return nil
	}
	return object
}

// asked is an API that serves all but some kinds, with the test's responses.
type asked struct {
	lacks string
	says  error
	down  error
	tried []string
}

func (a *asked) Serves(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	return gvk.Kind != a.lacks, a.down
}

func (a *asked) DryRun(_ context.Context, o *unstructured.Unstructured) error {
	a.tried = append(a.tried, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	o.SetName("changed") // the caller must not notice
	return a.says
}

func TestTheWorld(t *testing.T) {
	const settings = `configMaps: [{id: a, nameTemplate: "{{ .uid }}-a", spec: {data: {x: y}}}]` + "\n"
	gr := schema.GroupResource{Resource: "configmaps"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "acme-s", nil)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "data[a b]", Message: `Invalid value: "s3cr3t"`}}
	for sentence, test := range map[string]struct {
		template string
		remote   bool
		world    asked
		want     []string
		fails    bool
	}{
		"all is well": {settings, false, asked{}, nil, false},
		"a kind that nobody serves": {reader("x", ""), false, asked{lacks: "Deployment"},
			[]string{"error deployments[app]: this API does not serve the kind Deployment of apps/v1; …use spec.kubeConfig…"}, false},
		"a kind that the target does not serve, either": {reader("x", ""), true, asked{lacks: "Deployment"},
			[]string{"error deployments[app]: neither this API nor the cluster of spec.kubeConfig serves the kind Deployment of apps/v1"}, false},
		"a refusal":                          {settings, false, asked{says: apierrors.NewBadRequest("no such thing")}, []string{"error configMaps[a]: the API refuses it: no such thing"}, false},
		"a namespace that is not there":      {settings, false, asked{says: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x")}, []string{"warning configMaps[a]: it could not be checked: …"}, false},
		"fields that somebody else has":      {settings, false, asked{says: apierrors.NewConflict(gr, "a", errors.New("conflict"))}, nil, false},
		"a kind that is known from old days": {settings, false, asked{says: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}}, []string{"error configMaps[a]: this API does not serve…"}, false},
		"what is in a Secret is not told": {`secrets: [{id: s, nameTemplate: "{{ .uid }}-s", spec: {stringData: {x: s3cr3t}}}]`, false, asked{says: invalid},
			[]string{"error secrets[s]: the API refuses it: Invalid: data[a b]"}, false},
		"fields of other types": {`secrets: [{id: s, nameTemplate: "{{ .uid }}-s", spec: {stringData: {x: s3cr3t}}}]`, false,
			asked{says: apierrors.NewInternalError(errors.New("failed to create typed patch object (default/acme-s; /v1, Kind=Secret): errors:\n  .data.y: expected string, got &{s3cr3t}\n  .data.x: expected string, got &{s3cr3t}\n"))},
			[]string{"error secrets[s]: the API refuses it: .data.x: expected string, .data.y: expected string"}, false},
		"fields that there are not, and others": {settings, false,
			asked{says: errors.New("failed to create typed patch object (default/acme-a; /v1, Kind=ConfigMap): errors:\n  .data.x: expected string, got &{1}\n  .more: field not declared in schema")},
			[]string{"error configMaps[a]: the API refuses it: .more: field not declared in schema"}, false},
		"a field of another type, of which nothing is said": {settings, false, asked{says: errors.New("failed to create typed patch object (default/acme-s; /v1, Kind=Secret): s3cr3t")},
			[]string{"error configMaps[a]: the API refuses it: a field has another type than its kind gives it"}, false},
		"an API that is out of order":        {settings, false, asked{says: apierrors.NewServiceUnavailable("later")}, nil, true},
		"an API that does not say its kinds": {settings, false, asked{down: errors.New("connection refused")}, nil, true},
		"what has a mistake is not tried":    {stackOf("locals {\n", ""), false, asked{says: apierrors.NewBadRequest("x")}, []string{"error manifests[db]: main.tf:…"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			template := templateOf(t, test.template)
			if test.remote {
				template.Spec.KubeConfig = &fluxmeta.KubeConfigReference{SecretRef: &fluxmeta.SecretKeyReference{Name: "cluster"}}
			}
			findings, err := Template(t.Context(), Subject{Template: template, Row: acme()}, &test.world)
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			expect(t, findings, test.want)
			for _, f := range findings {
				if strings.Contains(f.String(), "s3cr3t") {
					t.Errorf("a secret is shown: %s", f)
				}
			}
		})
	}
}

func TestWhatIsInANamespaceOfTheTenantsOwnIsNotTried(t *testing.T) {
	w := &asked{}
	template := templateOf(t, `namespaces: [{id: ns, nameTemplate: "t-{{ .uid }}", spec: {metadata: {labels: {team: a}}}}]
configMaps: [{id: a, nameTemplate: a, targetNamespace: "t-{{ .uid }}", spec: {data: {}}}, {id: b, nameTemplate: "{{ .uid }}-b", spec: {data: {}}}]
`)
	if _, err := Template(t.Context(), Subject{Template: template, Row: acme()}, w); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.tried, ", "); got != "ConfigMap default/acme-b, Namespace /t-acme" && got != "Namespace /t-acme, ConfigMap default/acme-b" {
		t.Errorf("tried %s", got)
	}
}
