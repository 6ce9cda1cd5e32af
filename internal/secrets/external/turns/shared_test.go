// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"fmt"
	"testing"
	"time"
)

// Two namespaces have stores of their own that do not answer, and name a store that all share beside them.
func TestNamespacesDoNotUseUpASharedStore(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["corp"], o.lasts["a"], o.lasts["b"] = time.Millisecond, time.Minute, time.Minute
		for n := range 100 {
			o.ask(fmt.Sprintf("a/%d", n), "corp", "a")
			o.ask(fmt.Sprintf("b/%d", n), "corp", "b")
		}
		for round := range 5 {
			name := fmt.Sprintf("c/%d", round)
			asked := time.Since(o.start)
			o.ask(name, "corp")
			time.Sleep(Quick + time.Second)
			o.mu.Lock()
			if ended, ok := o.ended[name]; !ok {
				t.Errorf("round %d: %d have a turn, and %s waits after %s", round, len(o.held), name, time.Since(o.start)-asked)
			} else if round > 0 && ended-asked > Quick {
				t.Errorf("round %d: it took %s", round, ended-asked)
			}
			o.mu.Unlock()
			time.Sleep(50 * time.Second)
		}
		time.Sleep(3 * time.Hour)
	})
}

// Namespaces with many requests do not delay one with few by their number.
func TestNamespacesWithFewTurnsAreFirst(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["corp"] = time.Second
		for n := range 100 {
			o.ask(fmt.Sprintf("a/%d", n), "corp")
			o.ask(fmt.Sprintf("b/%d", n), "corp")
		}
		o.ask("c/1", "corp")
		time.Sleep(3 * time.Second)
		o.mu.Lock()
		if _, ok := o.ended["c/1"]; !ok {
			t.Error("c/1 waits for all that asked before")
		}
		o.mu.Unlock()
		time.Sleep(3 * time.Hour)
	})
}

// A slow store delays only who names it, also in its own namespace.
func TestASlowStoreDoesNotDelayItsNamespace(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["slow"], o.lasts["fast"] = time.Minute, time.Millisecond
		for n := range 5 {
			o.ask(fmt.Sprintf("n/%d", n), "slow")
		}
		o.ask("n/fast", "fast")
		o.begins("at first", "n/0", "n/1")
		time.Sleep(Quick + time.Millisecond)
		o.begins("after a while", "n/fast")
		o.ask("n/next", "fast")
		o.begins("while the slow store is known", "n/next")
		time.Sleep(time.Hour)
	})
}
