// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// The bounds. Turns aside wait for the network, so they may be many: it takes 16 namespaces to fill them.
const (
	Places = 8
	Aside  = 64
	Share  = 2
	// StoreShare is how many turns of a store namespaces have together that are not slow, and how many namespaces that
	// are slow may begin another one.
	StoreShare = 4
	// StoreMax leaves half of the turns aside to other stores. It takes 12 namespaces to fill it: StoreShare with twice
	// their share, and others that became slow with Share turns each.
	StoreMax = Aside / 2
	// Workers is how many a controller needs: some are left for requests without a turn.
	Workers = Places + Aside + 8
	// Quick is how long a turn may have a place.
	Quick = 2 * time.Second
	// forgetAfter is when a store that nobody asked since is no longer slow.
	forgetAfter = time.Hour
)

// Turns are those of one controller.
type Turns struct {
	mu sync.Mutex
	// held are the turns, in the order of their begin.
	held []*turn
	// waiting are requests in the order in which they first asked.
	waiting []*waiter
	// slow is when a store was last slow, and slowFor when it was so for a namespace.
	slow    map[string]time.Time
	slowFor map[pair]time.Time
	again   chan event.GenericEvent
}

// pair is a store, as a namespace sees it.
type pair struct{ namespace, store string }

// turn is what a request holds.
type turn struct {
	namespace string
	stores    []string
	begin     time.Time
	// aside is true if it has no place. late is true after Quick.
	aside, late bool
}

// waiter is a request without a turn. called is true while it is queued to have one.
type waiter struct {
	request ctrl.Request
	turn
	called bool
}

// New returns the turns of a controller.
func New() *Turns {
	return &Turns{slow: map[string]time.Time{}, slowFor: map[pair]time.Time{}, again: make(chan event.GenericEvent)}
}

// Source queues requests again.
func (t *Turns) Source() source.Source {
	return source.Channel(t.again, &handler.EnqueueRequestForObject{})
}

// Ask takes a turn for the request's stores, which lasts until the end of the reconciliation. If it is false, do
// nothing more: the request is queued again.
type Ask func(stores ...string) bool

// Fair gives requests turns. do asks at most once.
func (t *Turns) Fair(do func(context.Context, ctrl.Request, Ask) (ctrl.Result, error)) reconcile.Func {
	return func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		var mine *turn
		var late *time.Timer
		asked := false
		defer func() {
			switch {
			case mine != nil:
				late.Stop()
				t.end(ctx, mine)
			case !asked:
				t.forget(ctx, req)
			}
		}()
		return do(ctx, req, func(stores ...string) bool {
			asked = true
			if mine = t.take(req, stores); mine == nil {
				return false
			}
			late = time.AfterFunc(Quick, func() { t.takesLong(ctx, mine) })
			return true
		})
	}
}

// take returns the request's turn, or makes it wait.
func (t *Turns) take(req ctrl.Request, stores []string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	stores = slices.Compact(slices.Sorted(slices.Values(stores)))
	mine := &turn{namespace: req.Namespace, stores: stores, begin: time.Now()}
	i := slices.IndexFunc(t.waiting, func(w *waiter) bool { return w.request == req })
	if t.fits(mine, t.taken(req)) {
		if i >= 0 {
			t.waiting = slices.Delete(t.waiting, i, i+1)
		}
		t.held = append(t.held, mine)
		return mine
	}
	if i < 0 {
		t.waiting, i = append(t.waiting, &waiter{request: req}), len(t.waiting)
	}
	t.waiting[i].turn, t.waiting[i].called = *mine, false
	return nil
}

// taken are the turns that are held, and those that others were called to have: a request that comes again and again
// must not take them first.
func (t *Turns) taken(by ctrl.Request) []*turn {
	all := slices.Clone(t.held)
	for _, w := range t.waiting {
		if w.called && w.request != by {
			all = append(all, &w.turn)
		}
	}
	return all
}

// fits reports whether a turn may begin beside others, and says where.
func (t *Turns) fits(mine *turn, others []*turn) bool {
	mine.aside = t.areSlow(mine)
	lane, share, all := 0, 0, 0
	for _, o := range others {
		if o.aside == mine.aside {
			lane++
		}
		if o.namespace == mine.namespace {
			all++
			if o.aside == mine.aside {
				share++
			}
		}
	}
	switch {
	case mine.aside && lane >= Aside, !mine.aside && lane >= Places:
		return false
	case mine.namespace != "" && (share >= Share || all >= 2*Share): // administrators make the objects without a namespace
		return false
	}
	asked := t.perStore(others)
	return !slices.ContainsFunc(mine.stores, func(s string) bool {
		if n := asked[s]; n != nil {
			return n.all >= StoreMax || !t.isSlow(mine, s) && n.quick >= StoreShare || t.isSlow(mine, s) && n.slow >= StoreShare
		}
		return false
	})
}

// tally counts the turns of a store.
type tally struct {
	// all are its turns. quick are those of namespaces for which it is not slow.
	all, quick int
	// slow is the number of namespaces with other turns.
	slow int
	// counted are these namespaces.
	counted map[string]bool
}

// perStore counts the turns of each store.
func (t *Turns) perStore(turns []*turn) map[string]*tally {
	stores := map[string]*tally{}
	for _, o := range turns {
		for _, s := range o.stores {
			n := stores[s]
			if n == nil {
				n = &tally{counted: map[string]bool{}}
				stores[s] = n
			}
			n.all++
			switch {
			case !t.isSlow(o, s):
				n.quick++
			case o.namespace == "" || !n.counted[o.namespace]:
				n.counted[o.namespace] = true
				n.slow++
			}
		}
	}
	return stores
}

// isSlow reports whether a turn of a store is slow, or would be. A namespace may make it so by itself: with another
// store in the same request, or by what it asks for. So this is nothing that others must wait for.
func (t *Turns) isSlow(o *turn, store string) bool {
	_, slow := t.slowFor[pair{o.namespace, store}]
	return slow || o.late
}

// areSlow reports whether one of the stores of a turn is slow.
func (t *Turns) areSlow(o *turn) bool {
	return slices.ContainsFunc(o.stores, func(s string) bool { _, slow := t.slow[s]; return slow || t.isSlow(o, s) })
}

// end ends a turn.
func (t *Turns) end(ctx context.Context, mine *turn) {
	t.change(ctx, func() {
		t.held = slices.DeleteFunc(t.held, func(o *turn) bool { return o == mine })
		if time.Since(mine.begin) >= Quick {
			t.setSlow(mine)
			return
		}
		for _, s := range mine.stores {
			delete(t.slow, s)
			delete(t.slowFor, pair{mine.namespace, s})
		}
	})
}

// takesLong puts a turn aside.
func (t *Turns) takesLong(ctx context.Context, mine *turn) {
	t.change(ctx, func() {
		if slices.Contains(t.held, mine) {
			mine.late = true
			t.setSlow(mine)
		}
	})
}

// setSlow remembers the stores of a slow turn, and forgets those that nobody asked since long.
func (t *Turns) setSlow(o *turn) {
	now := time.Now()
	old := func(at time.Time) bool { return now.Sub(at) > forgetAfter }
	maps.DeleteFunc(t.slow, func(_ string, at time.Time) bool { return old(at) })
	maps.DeleteFunc(t.slowFor, func(_ pair, at time.Time) bool { return old(at) })
	for _, s := range o.stores {
		t.slow[s] = now
		t.slowFor[pair{o.namespace, s}] = now
	}
}

// forget ends the waiting of a request that needs no turn any more.
func (t *Turns) forget(ctx context.Context, req ctrl.Request) {
	t.mu.Lock()
	waits := slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.request == req })
	t.mu.Unlock()
	if waits {
		t.change(ctx, func() {
			t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool { return w.request == req })
		})
	}
}

// change changes who has turns, and queues the requests that can have one now.
func (t *Turns) change(ctx context.Context, do func()) {
	t.mu.Lock()
	do()
	called := t.call()
	t.mu.Unlock()
	for _, req := range called {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
		select {
		case t.again <- event.GenericEvent{Object: client.Object(o)}:
		case <-ctx.Done(): // the server ends
		}
	}
}

// call returns the requests that can have a turn: first those of namespaces with the fewest, in the order in which they
// asked.
func (t *Turns) call() (called []ctrl.Request) {
	places, aside := 0, 0
	for _, o := range t.held {
		if o.aside {
			aside++
		}
	}
	for _, o := range t.held {
		if o.late && !o.aside && aside < Aside {
			o.aside = true
			aside++
		}
		if !o.aside {
			places++
		}
	}
	with := t.taken(ctrl.Request{})
	has := map[string]int{} // the namespace without a name, of administrators, counts as one with no turns
	for _, o := range with {
		if o.namespace != "" {
			has[o.namespace]++
		}
	}
	for fewest := range 2 * Share {
		for _, w := range t.waiting {
			full := places >= Places // thousands may wait: for most of them this is all that is asked
			if t.areSlow(&w.turn) {
				full = aside >= Aside
			}
			if w.called || full || has[w.namespace] != fewest || !t.fits(&w.turn, with) {
				continue
			}
			w.called = true
			with = append(with, &w.turn)
			called = append(called, w.request)
			if w.namespace != "" {
				has[w.namespace]++
			}
			if w.aside {
				aside++
			} else {
				places++
			}
		}
	}
	return called
}
