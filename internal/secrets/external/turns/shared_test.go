// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"fmt"
	"slices"
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
			o.later(Quick + time.Second)
			o.mu.Lock()
			if ended, ok := o.ended[name]; !ok {
				t.Errorf("round %d: %d have a turn, and %s waits after %s", round, len(o.held), name, time.Since(o.start)-asked)
			} else if round > 0 && ended-asked > Quick {
				t.Errorf("round %d: it took %s", round, ended-asked)
			}
			o.mu.Unlock()
			o.later(50 * time.Second)
		}
		o.later(3 * time.Hour)
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
		o.later(3 * time.Second)
		o.mu.Lock()
		if _, ok := o.ended["c/1"]; !ok {
			t.Error("c/1 waits for all that asked before")
		}
		o.mu.Unlock()
		o.later(3 * time.Hour)
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
		o.later(Quick + time.Millisecond)
		// One more of the slow store may have begun, when the first of both was aside before the second.
		if o.begun = slices.DeleteFunc(o.begun, func(name string) bool { return name == "n/2" }); !slices.Equal(o.begun, []string{"n/fast"}) {
			t.Errorf("after a while: %v, want [n/fast]", o.begun)
		}
		o.begun = nil
		o.ask("n/next", "fast")
		o.begins("while the slow store is known", "n/next")
		o.later(time.Hour)
	})
}

// However many namespaces that name a shared store are slow at once, up to 11, and however often they ask, one that is
// not has its turn within Quick.
func TestSlowNamespacesLeaveASharedStoreToOthers(t *testing.T) {
	for _, c := range []struct {
		what       string
		namespaces int
		stores     []string // what their requests name beside a store of their own
		known      bool     // they were slow before
	}{
		{"as many as begin together", StoreShare, []string{"corp"}, false},
		{"with requests that another namespace could have ended", 8, []string{"corp"}, true},
		{"with the store under two names", 8, []string{"corp", "corp"}, true},
		{"the most", 11, []string{"corp"}, false},
	} {
		withOffice(t, func(o *office) {
			o.lasts["corp"] = time.Millisecond
			ask := func(round int) {
				for n := range c.namespaces {
					own := fmt.Sprint("own", n)
					o.lasts[own] = time.Minute
					for i := range 2 * Share {
						o.ask(fmt.Sprintf("hostile%02d/%d-%d", n, round, i), append([]string{own}, c.stores...)...)
					}
				}
			}
			ask(0)
			if c.known {
				o.later(10 * time.Minute)
				o.ask("quick/0", "corp") // the store itself is known to be quick
				ask(1)
			}
			o.later(5 * Quick)
			for i := range 5 {
				asked := time.Since(o.start)
				o.ask(fmt.Sprintf("good/%d", i), "corp")
				o.later(Quick + time.Second)
				o.mu.Lock()
				if ended, ok := o.ended[fmt.Sprintf("good/%d", i)]; !ok || ended-asked > Quick {
					t.Errorf("%s: good/%d waited longer than %s (%t)", c.what, i, Quick, ok)
				}
				if slow := o.perStore(o.held)["corp"].slow; slow < min(c.namespaces, StoreShare) {
					t.Errorf("%s: only %d slow namespaces have turns, so this proves nothing", c.what, slow)
				}
				o.mu.Unlock()
			}
			o.later(3 * time.Hour)
		})
	}
}

// A store that answers nobody has at most StoreMax turns, and other slow stores have the others.
func TestASlowStoreLeavesRoomAside(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["corp"], o.lasts["other"] = time.Minute, time.Minute
		for n := range 100 {
			o.ask(fmt.Sprintf("n%d/a", n), "corp")
		}
		o.later(30 * time.Second)
		o.mu.Lock()
		if all := o.perStore(o.held)["corp"].all; all != StoreMax {
			t.Errorf("%d have a turn, want %d", all, StoreMax)
		}
		o.mu.Unlock()
		o.begun = nil
		for n := range StoreShare {
			o.ask(fmt.Sprintf("m%d/a", n), "other")
		}
		o.begins("of another slow store", "m0/a", "m1/a", "m2/a", "m3/a")
		o.later(3 * time.Hour)
	})
}
