// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/yuba-dev/yuba/internal/home/schemas"
)

// The API server is told of the served types what it would be told by Kubernetes' own package.
func TestWhatIsServedIsDescribedAsKubernetesDescribesIt(t *testing.T) {
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }
	want := upstream(ref)
	got := schemas.Definitions(ref)
	if len(got) < 100 {
		t.Errorf("only %d types are described", len(got))
	}
	for name, definition := range want {
		slices.Sort(definition.Dependencies)
		if diff := cmp.Diff(definition, got[name], cmpopts.EquateEmpty(), cmp.Transformer("ref", refOf), numbers); diff != "" {
			t.Errorf("%s (-Kubernetes +here):\n%s\nTo write the descriptions again: make generate", name, diff)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is described, and nothing that is served is made of it", name)
	}
}

func refOf(ref spec.Ref) string { return ref.String() }

// numbers has integers of defaults compared as JSON has them.
var numbers = cmp.FilterValues(func(a, b any) bool { return isInt(a) || isInt(b) },
	cmp.Comparer(func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }))

func isInt(value any) bool { _, is := value.(int); return is }

// Whoever changes what was returned changes nothing for the next caller.
func TestDefinitionsAreTheCallersOwn(t *testing.T) {
	const secret = "io.k8s.api.core.v1.Secret"
	ref := func(prefix string) common.ReferenceCallback {
		return func(name string) spec.Ref { return spec.MustCreateRef(prefix + name) }
	}
	first := schemas.Definitions(ref("#/one/"))[secret].Schema.Properties
	delete(first, "data")
	const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	schemas.Definitions(ref("#/one/"))[quantity].Schema.Extensions["x-changed"] = true
	if _, there := schemas.Definitions(ref("#/two/"))[quantity].Schema.Extensions["x-changed"]; there {
		t.Error("an extension was given to everybody")
	}
	second := schemas.Definitions(ref("#/two/"))[secret].Schema.Properties
	if _, there := second["data"]; !there {
		t.Error("a field was taken away from everybody")
	}
	metadata := second["metadata"]
	if len(metadata.AllOf) > 0 {
		metadata = metadata.AllOf[0]
	}
	if got, want := metadata.Ref.String(), "#/two/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"; got != want {
		t.Errorf("metadata refers to %q, want %q", got, want)
	}
}
