// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
)

func TestWhatTemplatesAreToSay(t *testing.T) {
	f := NewFindings()
	template := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "t"}, Spec: tenantv1.TenantTemplateSpec{RegistryID: "customers"}}
	name := RegistryOfTemplate(template)
	f.Tell(name, "web", Told{UID: "t", Unmade: map[string]string{"acme": "no"}})
	if got := f.Told(name, template); got.Unmade["acme"] != "no" {
		t.Errorf("told %+v", got)
	}
	if other := template.DeepCopy(); true {
		if other.UID = "other"; f.Told(name, other).Unmade != nil {
			t.Error("a recreated template is told the same")
		}
	}
	f.Keep(name, nil)
	if got := f.Told(name, template); got.Unmade != nil {
		t.Errorf("it is remembered: %v", got)
	}
	h := &decide.Hold{ID: "x", Count: 2}
	if !f.Hold(name, h) || f.Hold(name, h) || f.Held(name) != h || !f.Hold(name, nil) {
		t.Error("the hold is not kept")
	}
	f.Sample(name, []Sample{{Digest: "d"}})
	if got := f.Samples(name); len(got) != 1 {
		t.Errorf("%d rows to check with", len(got))
	}
	if f.Forget(name); f.Samples(name) != nil {
		t.Error("a deleted registry has findings")
	}
}
