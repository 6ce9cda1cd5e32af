// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestPausesGrowAndStayShort(t *testing.T) {
	limiter := limiter()
	stack := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "vpc"}}
	var last time.Duration
	for n := range 1000 {
		pause := limiter.When(stack)
		if pause < last || pause > longest {
			t.Fatalf("attempt %d comes after %s, the one before came after %s", n, pause, last)
		}
		last = pause
	}
	if last != longest {
		t.Errorf("the pauses end at %s", last)
	}
	limiter.Forget(stack)
	if pause := limiter.When(stack); pause != shortest {
		t.Errorf("after a success the first pause is %s", pause)
	}
}
