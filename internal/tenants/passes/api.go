// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// API is the API that this server belongs to, and how passes read and write it.
type API struct {
	// Client reads from the cache and writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	// Cached reads only the cache, for metadata of ConfigMaps and Secrets, too. Fresh also reads
	// our own recent writes.
	Cached client.Reader
	Fresh  *fresh.Reader
	Events events.EventRecorder
	// Config is the server's own access to its API, with all rights.
	Config *rest.Config
	// Busy is called whenever writing begins or ends; nil to call nothing. It must not block.
	Busy func(bool)
	Now  func() time.Time
	Log  *slog.Logger
	// Base ends when the server stops.
	Base context.Context

	effort effort
}

// effort is how many passes are writing.
type effort struct {
	mu sync.Mutex
	n  int
}

// Writing reports that a pass writes, until done is called.
func (a *API) Writing() (done func()) {
	if a.Busy == nil {
		return func() {}
	}
	add := func(n int) {
		a.effort.mu.Lock()
		defer a.effort.mu.Unlock()
		a.effort.n += n
		a.Busy(a.effort.n > 0)
	}
	add(1)
	return func() { add(-1) }
}

// PatchStatus writes a status. The error is a conflict if another object has the name by now.
func (a *API) PatchStatus(ctx context.Context, before, now client.Object) error {
	if err := reconciling.PatchStatus(ctx, a.Client, before, now); err != nil {
		return err
	}
	a.Fresh.Wrote(now)
	return nil
}

// SetFinalizers writes the finalizers of an object in the middle of a pass.
func (a *API) SetFinalizers(ctx context.Context, obj, before client.Object, finalizers []string) error {
	if err := reconciling.SetFinalizers(ctx, a.Client, obj, before, finalizers); err != nil {
		return err
	}
	a.Fresh.Wrote(before)
	return nil
}

// Event records an event.
func (a *API) Event(obj client.Object, kind, reason, message string) {
	reconciling.Event(a.Events, obj, kind, reason, "Reconcile", message)
}

// Find requests a pass over each object that an index finds. The list determines their kind.
func (a *API) Find(ctx context.Context, list client.ObjectList, index, key string) []reconcile.Request {
	return reconciling.Find(ctx, a.Cached, a.Log, list, index, key)
}

// shortestWait lets other passes run in between.
const shortestWait = 10 * time.Millisecond

// Until ends a pass and requests the next one at a time; the zero time requests none.
func (a *API) Until(next time.Time) ctrl.Result {
	if next.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(next.Sub(a.Now()), shortestWait)}
}
