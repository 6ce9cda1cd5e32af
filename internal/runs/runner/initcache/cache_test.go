// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initcache

import (
	"fmt"
	"testing"
)

func TestKeptInitsAreBounded(t *testing.T) {
	k := New()
	for i := range 2 * maxKeptInits {
		k.Put(fmt.Sprint(i), &Init{size: 1})
	}
	if len(k.byKey) != maxKeptInits || len(k.order) != maxKeptInits || k.size != maxKeptInits || k.Get("0") != nil {
		t.Errorf("%d kept, %d in order, size %d", len(k.byKey), len(k.order), k.size)
	}
	k.Put("large", &Init{size: maxKeptBytes})
	if len(k.byKey) != 1 || k.Get("large") == nil {
		t.Errorf("%d kept", len(k.byKey))
	}
	k.Drop("large")
	k.Drop("large")
	if k.size != 0 || len(k.order) != 0 {
		t.Errorf("size %d, %d in order", k.size, len(k.order))
	}
}
