// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The server may end after the first objects and before their record.
func TestATenantWithoutARecordLeavesNothing(t *testing.T) {
	w := newWorld(t)
	old := w.made()
	// At that time the object exists without a record.
	old.Status = tenantv1.TenantStatus{}
	p := &pass{obj: old, plan: makePlan(old)}
	if !p.begins() || !p.unrecorded() {
		t.Fatal("it is not the first pass")
	}
	old.DeletionTimestamp = ptr.To(metav1.Now())
	p = &pass{obj: old, before: old.DeepCopy(), owner: client.ObjectKeyFromObject(old), now: w.r.Now(), home: w.r.Clusters.Home, lives: w.r.Exists, memory: newMemory(old.UID)}
	p.before.Finalizers, p.obj.Finalizers = []string{tenantv1.Finalizer}, []string{tenantv1.Finalizer}
	if _, err := w.r.passOver(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(p.going) != 1 || p.going[0].Name != "acme-settings" {
		t.Errorf("these are being deleted: %+v", p.going)
	}
}
