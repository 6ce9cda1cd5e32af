// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// Claims that begin at the same moment reserve no more names than the pool allows: it counts before a name is taken.
func TestReservationsAreCountedBeforeTheyBegin(t *testing.T) {
	c, ns := apitest.Client(t), apitest.Namespace(t)
	pool := &yubav1.SubdomainPool{}
	pool.Namespace, pool.Name = apitest.Namespace(t), "apps"
	pool.Spec.Domain, pool.Spec.Manual, pool.Spec.MaxClaimsPerNamespace = "apps.example.org", &yubav1.ManualDNS{}, 1
	pool.Spec.AllowedNamespaces = []string{ns}
	if err := c.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: c, Direct: c, Now: time.Now}
	claims, got, errs := make([]yubav1.SubdomainClaim, namesPerClaim+2), make([]reservation, namesPerClaim+2), make([]error, namesPerClaim+2)
	var wg sync.WaitGroup
	for i := range claims {
		claims[i] = claimOf(ns, fmt.Sprint("c", i), 0, "")
		claims[i].Status.Domain = fmt.Sprintf("n%d.apps.example.org", i)
		wg.Go(func() {
			for range 20 { // a conflict with all others is tried again, as a pass is
				if got[i], errs[i] = r.reserve(t.Context(), &claims[i], pool); errs[i] == nil {
					return
				}
			}
		})
	}
	wg.Wait()
	begun, last := 0, -1
	for i := range got {
		switch {
		case errs[i] != nil:
			t.Error(errs[i])
		case got[i].begins:
			begun, last = begun+1, i
		case got[i].refused == nil || got[i].runs:
			t.Errorf("claim %d: %+v", i, got[i])
		}
	}
	remembers := func() int {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		return len(pool.Status.Reservations)
	}
	if n := remembers(); begun != namesPerClaim || n != namesPerClaim {
		t.Fatalf("%d have begun, and the pool remembers %d", begun, n)
	}
	// A pass that is repeated counts once. A claim that did not get the name gives it back.
	if again, err := r.reserve(t.Context(), &claims[last], pool); err != nil || !again.begins || remembers() != namesPerClaim {
		t.Errorf("%+v, %v", again, err)
	}
	if err := r.giveBack(t.Context(), &claims[last], pool, got[last]); err != nil || remembers() != namesPerClaim-1 {
		t.Errorf("after it was given back, the pool remembers %d: %v", len(pool.Status.Reservations), err)
	}
}
