// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// Two who work on the same tenants would undo what the other does, and one of them deletes what a
// query does not give.
func TestTenantsOfALivingTenantOperatorAreLeftAlone(t *testing.T) {
	now := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	const name = "f2130106" + tenantOperatorLease
	c := apitest.Client(t)
	for sentence, test := range map[string]struct {
		holder string
		age    time.Duration
		left   bool
	}{
		"alive":                     {"pod-1", 10 * time.Second, true},
		"dead":                      {"pod-1", time.Minute, false},
		"stopped in an orderly way": {"", time.Second, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := lease(apitest.Namespace(t), name, test.holder, now.Add(-test.age), ptr.To(int32(15)))
			if err := c.Create(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Delete(context.Background(), l) }) //nolint:errcheck // goes with the API
			why, err := tenantsOfOthers(t.Context(), c, now)
			if err != nil || (why != "") != test.left {
				t.Fatalf("left alone because %q, %v", why, err)
			}
			if why != "" && (!strings.Contains(why, "pod-1") || !strings.Contains(why, "kubectl -n "+l.Namespace+" scale deployment")) {
				t.Errorf("it does not say whom to stop: %s", why)
			}
		})
	}
}

func TestTenantsOnPublishedDefinitionsAreLeftAlone(t *testing.T) {
	for _, f := range fieldsOfYuba {
		t.Run(f.resource+" without "+strings.Join(f.field, "."), func(t *testing.T) {
			withoutField(t, f.resource+"."+tenantv1.GroupVersion.Group, f.field)
			why, err := tenantsOfOthers(t.Context(), apitest.Client(t), time.Now())
			if err != nil || !strings.Contains(why, "version of the kind "+f.kind) || !strings.Contains(why, "yuba crds install --take-tenants") {
				t.Errorf("left alone because %q, %v", why, err)
			}
		})
	}
	if why, err := tenantsOfOthers(t.Context(), apitest.Client(t), time.Now()); why != "" || err != nil {
		t.Errorf("Yuba's own definitions are left alone: %s, %v", why, err)
	}
}

// withoutField takes a field out of a definition as long as the test lasts.
func withoutField(t *testing.T, definition string, field []string) {
	t.Helper()
	c := apitest.Client(t)
	change := func(ctx context.Context, mutate func(map[string]apiextensionsv1.JSONSchemaProps)) {
		var d apiextensionsv1.CustomResourceDefinition
		if err := c.Get(ctx, client.ObjectKey{Name: definition}, &d); err != nil {
			t.Fatal(err)
		}
		for _, version := range d.Spec.Versions {
			mutate(version.Schema.OpenAPIV3Schema.Properties[field[0]].Properties)
		}
		if err := c.Update(ctx, &d); err != nil {
			t.Fatal(err)
		}
	}
	var kept apiextensionsv1.JSONSchemaProps
	change(t.Context(), func(fields map[string]apiextensionsv1.JSONSchemaProps) {
		kept = fields[field[1]]
		delete(fields, field[1])
	})
	t.Cleanup(func() {
		change(context.Background(), func(fields map[string]apiextensionsv1.JSONSchemaProps) { fields[field[1]] = kept })
	})
}

// Stacks are looked after all the same.
func TestTheControllersStartWithoutTenants(t *testing.T) {
	l := lease(apitest.Namespace(t), "f2130106"+tenantOperatorLease, "pod-1", time.Now(), ptr.To(int32(600)))
	c := apitest.Client(t)
	if err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	defer c.Delete(context.Background(), l) //nolint:errcheck // goes with the API
	var log proctest.Log
	running(t, func(o *ControllerOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if !strings.Contains(log.Text(), "tenants are not reconciled: a Tenant Operator is running on this API (pod-1") {
		t.Errorf("the log does not say so:\n%s", log.Text())
	}
}
