// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"sync"
	"testing"
)

func TestLocksAreForOneAtATimeAndForgotten(t *testing.T) {
	l := NewLocks()
	var group sync.WaitGroup
	inside := 0
	for range 50 {
		group.Go(func() {
			unlock := l.Lock("a")
			inside++ // the race detector and the count reveal two at a time
			unlock()
		})
	}
	group.Wait()
	unlock := l.try("a")
	if inside != 50 || unlock == nil || l.try("a") != nil {
		t.Fatalf("entered %d times; free: %v", inside, unlock != nil)
	}
	other := l.Lock("b")
	unlock()
	other()
	if len(l.held) != 0 {
		t.Errorf("%d names remain", len(l.held))
	}
}
