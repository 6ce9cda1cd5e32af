// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// realWorld is the embedded API.
type realWorld struct{ client.Client }

func (w realWorld) Serves(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	_, err := w.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func (w realWorld) DryRun(ctx context.Context, o *unstructured.Unstructured) error {
	data, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	return w.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, data), client.DryRunAll, client.ForceOwnership, client.FieldOwner("tenant-operator"))
}

func TestTheEmbeddedAPIIsAsked(t *testing.T) {
	w := realWorld{apitest.Client(t)}
	template := templateOf(t, stackOf("locals {}\n", "retryStrategy: Sometimes")+`configMaps:
- {id: good, nameTemplate: "{{ .uid }}-good", spec: {data: {x: text}}}
- {id: bad, nameTemplate: "{{ .uid }}-bad", spec: {data: {"no key": text}}}
- {id: typed, nameTemplate: "{{ .uid }}-typed", spec: {data: {x: true}, more: 1}}
`+reader("x", ""))
	template.Namespace = apitest.Namespace(t)
	findings, err := Template(t.Context(), Subject{Template: template, Row: acme()}, w)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, findings, []string{
		"error deployments[app]: this API does not serve the kind Deployment of apps/v1; …",
		"error configMaps[bad]: the API refuses it: …no key…",
		"error configMaps[typed]: the API refuses it: .more: field not declared in schema",
		"error manifests[db]: the API refuses it: …retryStrategy…",
	})
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	if err := w.List(t.Context(), &list, client.InNamespace(template.Namespace), client.MatchingLabels{tenantv1.LabelUID: "acme"}); err != nil || len(list.Items) > 0 {
		t.Errorf("something was made: %d objects, %v", len(list.Items), err)
	}
}
