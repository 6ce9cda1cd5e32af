// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import "testing"

type bytesOf int

func (n bytesOf) weight() int { return int(n) }

func TestMemoryIsBounded(t *testing.T) {
	var m memory[int, bytesOf]
	for i := range 100 {
		m.put(i, maxWeight/10)
		m.put(i, maxWeight/10) // replaces itself
	}
	if len(m.entries) != 10 || m.total != maxWeight/10*10 {
		t.Errorf("%d entries of %d bytes", len(m.entries), m.total)
	}
	if _, ok := m.get(99); !ok {
		t.Error("the newest entry is forgotten")
	}
	m.update(99, func(bytesOf) bytesOf { return maxWeight })
	if v, ok := m.get(99); !ok || v != maxWeight || len(m.entries) != 1 {
		t.Errorf("after it grew: %d, %v, %d entries", v, ok, len(m.entries))
	}
	m.forget(99)
	for i := range 2 * maxRemembered {
		m.put(i, 1)
	}
	if len(m.entries) != maxRemembered || m.total != maxRemembered {
		t.Errorf("%d entries of %d bytes", len(m.entries), m.total)
	}
}
