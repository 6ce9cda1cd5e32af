// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// office is a controller with any number of workers, whose stores take their time.
type office struct {
	*testing.T
	*Turns
	// lasts is how long a store takes, by its name.
	lasts map[string]time.Duration
	// stores are those of a request.
	stores map[ctrl.Request][]string
	begun  []string
	ended  map[string]time.Duration
	start  time.Time
}

// withOffice runs a test with a clock of its own.
func withOffice(t *testing.T, test func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := &office{T: t, Turns: New(), lasts: map[string]time.Duration{}, stores: map[ctrl.Request][]string{}, ended: map[string]time.Duration{}, start: time.Now()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case e := <-o.again:
					go o.reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
				case <-ctx.Done():
					return
				}
			}
		}()
		test(o)
		cancel()
		<-done
	})
}

func (o *office) reconcile(ctx context.Context, req ctrl.Request) {
	_, err := o.Fair(func(_ context.Context, req ctrl.Request, ask Ask) (ctrl.Result, error) {
		o.mu.Lock()
		stores := o.stores[req]
		o.mu.Unlock()
		if len(stores) == 0 || !ask(stores...) {
			return ctrl.Result{}, nil
		}
		o.mu.Lock()
		o.begun = append(o.begun, req.String())
		o.within()
		var longest time.Duration
		for _, s := range stores {
			longest = max(longest, o.lasts[s])
		}
		o.mu.Unlock()
		time.Sleep(longest)
		o.mu.Lock()
		o.ended[req.String()] = time.Since(o.start)
		o.mu.Unlock()
		return ctrl.Result{}, nil
	})(ctx, req)
	if err != nil {
		o.Error(err)
	}
}

// within checks the bounds.
func (o *office) within() {
	type lane struct {
		namespace string
		aside     bool
	}
	places, namespaces, lanes := 0, map[string]int{}, map[lane]int{}
	for _, h := range o.held {
		if !h.aside {
			places++
		}
		namespaces[h.namespace]++
		lanes[lane{h.namespace, h.aside}]++
		if h.namespace != "" && (namespaces[h.namespace] > 2*Share || lanes[lane{h.namespace, false}] > Share) {
			o.Errorf("namespace %s has %d turns", h.namespace, namespaces[h.namespace])
		}
	}
	for s, n := range o.perStore(o.held) {
		if n.quick > StoreShare || n.all > StoreMax {
			o.Errorf("store %s has %d turns, %d of them quick", s, n.all, n.quick)
		}
	}
	if aside := len(o.held) - places; places > Places || aside > Aside {
		o.Errorf("%d places and %d aside are taken", places, aside)
	}
}

// later waits for a time, and for all that is due then.
func (o *office) later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// ask sends a request for stores.
func (o *office) ask(name string, stores ...string) {
	namespace, name, _ := cut(name)
	req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	o.mu.Lock()
	o.stores[req] = stores
	o.mu.Unlock()
	go o.reconcile(o.Context(), req)
	synctest.Wait()
}

func cut(name string) (namespace, rest string, found bool) {
	for i := range name {
		if name[i] == '/' {
			return name[:i], name[i+1:], true
		}
	}
	return "", name, false
}

// begins checks which requests have had a turn since the last call.
func (o *office) begins(when string, want ...string) {
	o.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := o.begun; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		o.Errorf("%s: %v, want %v", when, got, want)
	}
	o.begun = nil
}

func TestANamespaceHasItsShare(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["slow"], o.lasts["fast"] = 30*time.Second, time.Millisecond
		for n := 1; n <= 5; n++ {
			o.ask(fmt.Sprintf("hostile/%d", n), "slow")
		}
		o.ask("hostile/5", "slow") // a request that waits already does not wait twice
		o.begins("of a namespace", "hostile/1", "hostile/2")
		for n := range 3 {
			o.ask(fmt.Sprintf("/%d", n), fmt.Sprint("cluster", n))
		}
		o.ask("other/1", "fast")
		o.begins("of others", "/0", "/1", "/2", "other/1")
		o.later(30*time.Second + 1)
		o.begins("each turn that ends", "hostile/3", "hostile/4")
		o.later(30*time.Second + 1)
		o.begins("the last", "hostile/5")
		o.later(30*time.Second + 1)
		if len(o.waiting)+len(o.held) > 0 {
			t.Errorf("%d wait, %d are left", len(o.waiting), len(o.held))
		}
	})
}

// However many namespaces have stores that do not answer, others wait for Quick, and later not at all.
func TestSlowStoresGoAside(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["fast"] = time.Millisecond
		for n := range 20 {
			store := fmt.Sprint("slow", n)
			o.lasts[store] = 30 * time.Second
			o.ask(fmt.Sprintf("hostile%02d/a", n), store)
		}
		o.begins("with places", "hostile00/a", "hostile01/a", "hostile02/a", "hostile03/a", "hostile04/a", "hostile05/a", "hostile06/a", "hostile07/a")
		o.ask("good/first", "fast")
		o.begins("without a place")
		o.later(Quick - 1)
		o.begins("just before")
		o.later(2 * Quick)
		if o.begun = slices.DeleteFunc(o.begun, func(s string) bool { return s != "good/first" }); len(o.begun) != 1 {
			t.Error("the first of another namespace waits for slow stores")
		}
		o.begun = nil
		o.later(time.Minute)
		o.begun = nil
		for n := range 20 { // they are known now
			o.ask(fmt.Sprintf("hostile%02d/b", n), fmt.Sprint("slow", n))
		}
		o.begun = nil
		for n := range 2 * Places {
			o.ask(fmt.Sprintf("good%d/next", n), "fast")
			o.later(2 * time.Millisecond)
		}
		synctest.Wait()
		if len(o.begun) != 2*Places {
			t.Errorf("%d of others began while known slow stores are asked: %v", len(o.begun), o.begun)
		}
		o.begun = nil
		o.lasts["slow0"] = time.Millisecond // it has recovered
		o.later(time.Minute)
		o.ask("hostile00/c", "slow0")
		o.begins("of a store that is slow", "hostile00/c")
		o.later(time.Second)
		if _, slow := o.slow["slow0"]; slow || len(o.slow) != 19 {
			t.Errorf("slow are %v", o.slow)
		}
		o.later(2 * forgetAfter)
		o.setSlow(&turn{namespace: "n", stores: []string{"new"}})
		if len(o.slow) != 1 || len(o.slowFor) != 1 {
			t.Errorf("slow are still %v, %v", o.slow, o.slowFor)
		}
	})
}

// Many namespaces that name one store have its share.
func TestAStoreHasItsShare(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["shared"], o.lasts["other"] = time.Second, time.Second
		for n := range 6 {
			o.ask(fmt.Sprintf("n%d/a", n), "shared")
		}
		o.begins("of a store", "n0/a", "n1/a", "n2/a", "n3/a")
		o.ask("n9/both", "shared", "other")
		o.ask("n9/other", "other")
		o.begins("of another store", "n9/other")
		o.later(time.Second + 1)
		o.begins("then", "n4/a", "n5/a", "n9/both")
		o.later(time.Second + 1)
	})
}

// A request that is called and needs no turn any more leaves its chance to the next one.
func TestARequestThatNeedsNoTurn(t *testing.T) {
	withOffice(t, func(o *office) {
		o.lasts["s"] = time.Second
		for _, name := range []string{"n/1", "n/2", "n/3", "n/4"} {
			o.ask(name, "s")
		}
		o.begins("first", "n/1", "n/2")
		o.mu.Lock()
		delete(o.stores, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "3"}})
		o.mu.Unlock()
		o.later(time.Second + 1)
		o.begins("then", "n/4")
		o.later(time.Second + 1)
		if len(o.waiting) > 0 {
			t.Errorf("%+v", o.waiting[0])
		}
	})
}

// With room for all slow turns, no turn has a place for long; and every request has its turn.
func TestEveryRequestHasItsTurn(t *testing.T) {
	for seed := range uint64(5) {
		withOffice(t, func(o *office) {
			dice := rand.New(rand.NewPCG(seed, 0))
			for s := range 12 {
				o.lasts[fmt.Sprint(s)] = []time.Duration{time.Millisecond, time.Second, 30 * time.Second}[dice.IntN(3)]
			}
			const all = 300
			for n := range all {
				var stores []string
				for range 1 + dice.IntN(2) {
					stores = append(stores, fmt.Sprint(dice.IntN(12)))
				}
				o.ask(fmt.Sprintf("n%d/%d", dice.IntN(15), n), stores...)
				o.later(time.Duration(dice.IntN(100)) * time.Millisecond)
				o.mu.Lock()
				for _, h := range o.held {
					if !h.aside && time.Since(h.begin) > Quick {
						t.Errorf("seed %d: a turn of %s has a place for %s", seed, h.namespace, time.Since(h.begin))
					}
				}
				o.mu.Unlock()
			}
			o.later(3 * time.Hour)
			synctest.Wait()
			if len(o.ended) != all || len(o.held)+len(o.waiting) > 0 {
				t.Errorf("seed %d: %d of %d had their turn, %d wait, %d have one", seed, len(o.ended), all, len(o.waiting), len(o.held))
			}
		})
	}
}
