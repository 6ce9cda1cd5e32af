// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
)

// Keeper keeps the circuit breakers.
type Keeper struct {
	// Client writes, and reads from the cache; Reader reads past it.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Wake has a stack reconciled. It must not block.
	Wake func(circuits.Stack)
	// Options define an outage.
	Options circuits.Options
	Now     func() time.Time
	Log     *slog.Logger

	mu   sync.Mutex
	book circuits.Book
	news chan struct{}
	// objects are the known objects, as last written or read. Their users hold objectsMu.
	objectsMu sync.Mutex
	objects   map[string]*yubav1.CircuitBreaker
	// told has the content of the last event of each: whether it is open, and in which namespaces.
	told map[string]*telling
}

// telling is the reported state of a circuit breaker.
type telling struct {
	open       bool
	namespaces map[string]bool
}

// pace is the time between two rounds of writes.
const pace = 500 * time.Millisecond

// SetupWithManager loads the existing objects, and starts keeping them with the manager.
func (k *Keeper) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	k.news = make(chan struct{}, 1)
	k.objects, k.told = map[string]*yubav1.CircuitBreaker{}, map[string]*telling{}
	k.book.Options = k.Options
	if err := k.load(ctx); err != nil {
		return err
	}
	if err := mgr.Add(k); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("circuitbreaker").
		For(&yubav1.CircuitBreaker{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(reconciling.Options(1)).Complete(k)
}

// load takes over the objects of an earlier server.
func (k *Keeper) load(ctx context.Context) error {
	var list yubav1.CircuitBreakerList
	if err := k.Reader.List(ctx, &list); err != nil {
		return fmt.Errorf("list the circuit breakers: %w", err)
	}
	now := k.Now()
	for i := range list.Items {
		obj := &list.Items[i]
		k.objects[obj.Name] = obj
		if obj.Status.State != "" {
			k.book.Load(circuitOf(obj), now)
			k.told[obj.Name] = toldOf(obj)
		}
		k.direct(obj, now)
	}
	return nil
}

// direct applies an object's spec.
func (k *Keeper) direct(obj *yubav1.CircuitBreaker, now time.Time) bool {
	mode := circuits.Mode(obj.Spec.Mode)
	if mode == "" {
		mode = circuits.Automatic
	}
	return k.book.Direct(obj.Name, mode, obj.Spec.Provider, obj.Spec.Namespaces, now)
}

// Reconcile applies changes of an object's spec.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var obj yubav1.CircuitBreaker
	err := k.Client.Get(ctx, req.NamespacedName, &obj)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	k.objectsMu.Lock()
	defer k.objectsMu.Unlock()
	known := k.objects[req.Name]
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil && obj.DeletionTimestamp.IsZero():
		if known == nil || known.UID != obj.UID {
			k.objects[req.Name] = obj.DeepCopy()
		} else {
			known.Spec, known.Generation = obj.Spec, obj.Generation
		}
		if k.direct(&obj, k.Now()) {
			k.Log.Info("a person changed a circuit breaker", "circuitbreaker", req.Name, "mode", string(obj.Spec.Mode))
		}
	case known != nil:
		delete(k.objects, req.Name)
		if k.book.Release(req.Name, k.Now()) {
			k.Log.Info("a circuit breaker was deleted", "circuitbreaker", req.Name)
		}
	}
	k.poke()
	return ctrl.Result{}, nil
}

// Observe records the end of a run.
func (k *Keeper) Observe(e circuits.Ended) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed := k.book.Observe(e, k.Now())
	// Successful runs may show that an outage is smaller than assumed.
	if changed || len(k.book.Circuits()) > 0 {
		k.poke()
	}
}

// Any reports whether there are any circuit breakers.
func (k *Keeper) Any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.book.Circuits()) > 0
}

// Knows reports whether a stack's providers are known.
func (k *Keeper) Knows(s circuits.Stack) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.book.Knows(s)
}

// Learn records a stack's providers.
func (k *Keeper) Learn(s circuits.Stack, providers []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.book.Learn(s, providers)
}

// Cover returns the circuit breaker that concerns a stack.
func (k *Keeper) Cover(s circuits.Stack, providers []string) (circuits.Cover, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.book.Cover(s, providers)
}

// Decline records that a stack cannot be probed now.
func (k *Keeper) Decline(s circuits.Stack) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.book.Decline(s, k.Now()) {
		k.poke()
	}
}

// Forget drops a deleted stack; without a UID, all stacks of that name.
func (k *Keeper) Forget(s circuits.Stack) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.book.Forget(s, k.Now()) {
		k.poke()
	}
}

// Counts are the circuit breakers that opened automatically, those that people hold open, and the
// stacks that fail because of their outages.
type Counts struct{ Open, Kept, Failing int }

// Counts counts the circuit breakers that are open.
func (k *Keeper) Counts() Counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	var n Counts
	for _, c := range k.book.Circuits() {
		switch {
		case !c.IsOpen():
			continue
		case c.Mode == circuits.HeldOpen:
			n.Kept++
		default:
			n.Open++
		}
		n.Failing += c.Failing()
	}
	return n
}

func (k *Keeper) poke() {
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// Start keeps the objects until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-k.news:
		}
		k.round(ctx)
		// Write bursts of news in rounds.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace):
		}
		timer.Reset(k.untilNext())
	}
}

// retryWrites is the wait after writes that the API refused.
const retryWrites = 5 * time.Second

func (k *Keeper) untilNext() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if next := k.book.Next(); !next.IsZero() {
		return max(next.Sub(k.Now()), time.Millisecond)
	}
	return time.Hour
}

// round does due work, and updates objects, events and stacks.
func (k *Keeper) round(ctx context.Context) {
	// Lock this before reading circuits, or an object that a person deletes in between would be
	// created again.
	k.objectsMu.Lock()
	defer k.objectsMu.Unlock()
	k.mu.Lock()
	_, probes, free := k.book.Tick(k.Now())
	var seen []view
	for _, c := range k.book.Circuits() {
		seen = append(seen, viewOf(c))
	}
	k.mu.Unlock()
	for _, s := range slices.Concat(probes, free) {
		k.Wake(s)
	}
	failed := false
	for _, v := range seen {
		if err := k.keep(ctx, v); err != nil && ctx.Err() == nil {
			k.Log.Error("cannot write a circuit breaker", "circuitbreaker", v.name, "error", err)
			failed = true
		}
	}
	k.drop(ctx, seen)
	if failed {
		time.AfterFunc(retryWrites, k.poke)
	}
}

// drop deletes the objects of forgotten circuits.
func (k *Keeper) drop(ctx context.Context, seen []view) {
	kept := map[string]bool{}
	for _, v := range seen {
		kept[v.name] = true
	}
	for name, obj := range k.objects {
		if kept[name] || obj.Status.State == "" {
			continue
		}
		if err := k.Client.Delete(ctx, obj, client.Preconditions{UID: &obj.UID}); client.IgnoreNotFound(err) != nil {
			k.Log.Error("cannot delete a circuit breaker that has been closed for long", "circuitbreaker", name, "error", err)
			continue
		}
		delete(k.objects, name)
	}
	maps.DeleteFunc(k.told, func(name string, _ *telling) bool { return !kept[name] })
}

// wakePaused wakes paused stacks and those with a pending plan. All others see the change when they
// have something to do.
func (k *Keeper) wakePaused(ctx context.Context) error {
	var stacks infrav1.TerraformList
	if err := k.Client.List(ctx, &stacks); err != nil {
		return fmt.Errorf("list the paused stacks: %w", err)
	}
	for i := range stacks.Items {
		s := &stacks.Items[i]
		if conditions.Of(s, infrav1.ConditionPaused).Status == metav1.ConditionTrue || s.Status.Plan.Pending != "" {
			k.Wake(circuits.Stack{Namespace: s.Namespace, Name: s.Name, UID: string(s.UID)})
		}
	}
	return nil
}
