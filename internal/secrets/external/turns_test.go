// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A namespace whose stores do not answer has its share of the workers, and no more.
func TestANamespaceHasItsShare(t *testing.T) {
	turns, begun, end := newTurns(), make(chan string), make(chan struct{})
	reconcile := turns.fair(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
		begun <- req.String()
		<-end
		return ctrl.Result{RequeueAfter: 1}, nil
	})
	request := func(namespace string, n int) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
	}
	start := func(req ctrl.Request) { // it has a worker
		t.Helper()
		go reconcile(t.Context(), req) //nolint:errcheck // it fails never
		if got := <-begun; got != req.String() {
			t.Fatalf("%s begins, want %s", got, req)
		}
	}
	start(request("slow", 1))
	start(request("slow", 2))
	for range 2 { // a request that waits already does not wait twice
		for n := 3; n <= 5; n++ {
			if r, err := reconcile(t.Context(), request("slow", n)); err != nil || !r.IsZero() {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	start(request("other", 1))
	start(request("", 1))
	start(request("", 2))
	start(request("", 3))
	go func() { close(end) }()
	// Each turn that ends queues the next one, to the last.
	queued := map[string]bool{}
	for n := 3; n <= 5; n++ {
		o := (<-turns.again).Object
		queued[o.GetNamespace()+"/"+o.GetName()] = true
		start(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	if want := map[string]bool{"slow/3": true, "slow/4": true, "slow/5": true}; !maps.Equal(queued, want) {
		t.Errorf("queued are %v", queued)
	}
	turns.mu.Lock()
	defer turns.mu.Unlock()
	if len(turns.waiting) > 0 {
		t.Errorf("%v are left", turns.waiting)
	}
}
