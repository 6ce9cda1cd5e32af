// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestWhichKindsHaveAStatus(t *testing.T) {
	for sentence, c := range map[string]struct {
		version string
		want    bool
	}{
		"one with a part of its own for it": {"{name: v1, subresources: {status: {}}}", true},
		"one with a field for it":           {"{name: v1, schema: {openAPIV3Schema: {properties: {status: {type: object}}}}}", true},
		"one that takes everything":         {"{name: v1, schema: {openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true}}}", true},
		"one without":                       {"{name: v1, schema: {openAPIV3Schema: {properties: {spec: {type: object}}}}}", false},
		"another version":                   {"{name: v2}", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("spec: {versions: ["+c.version+"]}"), &u.Object); err != nil {
				t.Fatal(err)
			}
			if got := definesStatus(u, "v1"); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// An object of a kind that this API has must not go elsewhere because a template has another
// version of it, nor may the objects of all other templates.
func TestAKindOfAnotherVersionIsNotElsewhere(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v2"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	mapper.Add(gv.WithKind("Gadget"), meta.RESTScopeNamespace)
	k := New(t.Context(), Options{Mapper: mapper})
	now := time.Unix(1000, 0)
	kind := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Gadget"}
	}
	for range 2 {
		_, _, err := k.Serves(kind("v1"), now)
		var other *OtherVersionError
		if !errors.As(err, &other) || !strings.Contains(err.Error(), "write apiVersion: example.com/v2") {
			t.Fatalf("of another version it says %v", err)
		}
		if served, _, err := k.Serves(kind("v2"), now); !served || err != nil {
			t.Fatalf("its own version is served: %v, %v", served, err)
		}
	}
	none := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Widget"}
	if served, _, err := k.Serves(none, now); served || err != nil {
		t.Errorf("what is in no version is served: %v, %v", served, err)
	}
	k.Forget("example.com")
	if len(k.unserved) > 0 {
		t.Errorf("%v is still known to be missing", k.unserved)
	}
}
