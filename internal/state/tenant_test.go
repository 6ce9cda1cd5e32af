// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// found is how many of a list a tenant's label finds.
func (f *fixture) found(list client.ObjectList, uid string) int {
	f.t.Helper()
	err := f.client.List(f.t.Context(), list, client.InNamespace(f.key.Namespace), client.MatchingLabels{tenantv1.LabelUID: uid})
	if err != nil {
		f.t.Fatal(err)
	}
	switch l := list.(type) {
	case *corev1.SecretList:
		return len(l.Items)
	case *coordinationv1.LeaseList:
		return len(l.Items)
	}
	return -1
}

func TestATenantsStatesAndLocksAreFoundByItsLabel(t *testing.T) {
	f := newFixture(t)
	// A lock from the time before the stack was a tenant's.
	f.lock(aLock)
	if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
		t.Fatal(err)
	}
	if n := f.found(&coordinationv1.LeaseList{}, "acme"); n != 0 {
		t.Fatalf("%d Leases are acme's before the stack is", n)
	}
	f.key.Tenant = "acme"
	f.lock(aLock)
	// What the stack asks for does not say whose it is.
	_, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(1, "a"), RunID: "run-1",
		Labels: map[string]string{"team": "a", tenantv1.LabelUID: "beta"}})
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[string]int{"acme": 1, "beta": 0} {
		if secrets, leases := f.found(&corev1.SecretList{}, uid), f.found(&coordinationv1.LeaseList{}, uid); secrets != want || leases != want {
			t.Errorf("%d Secrets and %d Leases are %s's, want %d of each", secrets, leases, uid, want)
		}
	}
	secret, err := f.getSecret(t.Context(), f.key)
	if err != nil || secret == nil {
		t.Fatalf("%v %v", secret, err)
	}
	if secret.Labels["team"] != "a" || secret.Labels[labelState] != "true" {
		t.Errorf("the labels are %v", secret.Labels)
	}
}
