// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package knowledge

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestOf(t *testing.T) {
	var m Of[int]
	a, b := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	ten := func() int { return 10 }
	count := func(name types.NamespacedName, uid types.UID) (n int) {
		m.With(name, uid, ten, func(v *int) { *v++; n = *v })
		return n
	}
	has := func(name types.NamespacedName, uid types.UID) (found bool) {
		m.Having(name, uid, func(*int) { found = true })
		return found
	}
	if has(a, "1") {
		t.Error("there is a memory before any")
	}
	if first, second := count(a, "1"), count(a, "1"); first != 11 || second != 12 {
		t.Errorf("%d, %d", first, second)
	}
	if n := count(a, "2"); n != 11 {
		t.Errorf("another object of the name remembers: %d", n)
	}
	if has(a, "1") || !has(a, "2") || !has(a, "") || has(b, "") {
		t.Error("memories are of other objects")
	}
	count(b, "3")
	sum := 0
	m.Each(func(_ types.NamespacedName, v *int) { sum += *v })
	if sum != 22 {
		t.Errorf("all memories: %d", sum)
	}
	if m.Forget(a); has(a, "") || !has(b, "") {
		t.Error("the wrong one is forgotten")
	}
}
