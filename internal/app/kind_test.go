// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// An API that serves tofu-controller's kind would drop what Yuba writes.
func TestTheControllersDoNotStartOnTheKindOfTofuController(t *testing.T) {
	installPrograms(t)
	c := apitest.Client(t)
	var definition apiextensionsv1.CustomResourceDefinition
	change := func(ctx context.Context, mutate func(map[string]apiextensionsv1.JSONSchemaProps)) {
		if err := c.Get(ctx, client.ObjectKey{Name: stackDefinition}, &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			mutate(version.Schema.OpenAPIV3Schema.Properties["status"].Properties)
		}
		if err := c.Update(ctx, &definition); err != nil {
			t.Fatal(err)
		}
	}
	var kept apiextensionsv1.JSONSchemaProps
	change(t.Context(), func(status map[string]apiextensionsv1.JSONSchemaProps) {
		kept = status[statusOfYuba]
		delete(status, statusOfYuba)
	})
	t.Cleanup(func() {
		change(context.Background(), func(status map[string]apiextensionsv1.JSONSchemaProps) { status[statusOfYuba] = kept })
	})
	err := RunController(t.Context(), controllerOptions(t))
	if err == nil || !strings.Contains(err.Error(), "tofu-controller's version of the kind") || !strings.Contains(err.Error(), "yuba crds install") {
		t.Errorf("got %v", err)
	}
	if err := refuseOldKind(t.Context(), c, quiet()); err == nil {
		t.Error("it is not refused")
	}
	if why := new(ControllerOptions).latecomer(t.Context(), c, nil); !strings.Contains(why, "tofu-controller's version of the kind") {
		t.Errorf("running controllers go on: %q", why)
	}
}
