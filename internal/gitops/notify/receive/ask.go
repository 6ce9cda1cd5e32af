// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object identifies an object.
type object struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
}

func (o object) String() string { return o.gvk.Kind + " " + o.key.String() }

func (o object) metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(o.gvk)
	m.Namespace, m.Name = o.key.Namespace, o.key.Name
	return m
}

// asker requests reconciliations: an object's first at once, then at most one per pause. All
// requests during a pause share the one at its end.
type asker struct {
	writer client.Client
	pause  time.Duration
	log    *slog.Logger

	mu     sync.Mutex
	asked  map[object]*asked
	closed bool
}

// asked is an object in its pause. again: another request follows; err is the last result.
type asked struct {
	again bool
	err   error
}

// trailingTimeout limits the request at the end of a pause.
const trailingTimeout = 30 * time.Second

// ask requests a reconciliation. During a pause it returns the result of the last request.
func (a *asker) ask(ctx context.Context, o object) error {
	a.mu.Lock()
	if one := a.asked[o]; one != nil {
		defer a.mu.Unlock()
		one.again = true
		return one.err
	}
	if a.asked == nil {
		a.asked = map[object]*asked{}
	}
	one := &asked{}
	a.asked[o] = one
	a.mu.Unlock()
	err := a.annotate(ctx, o)
	a.rest(o, one, err)
	return err
}

// rest begins an object's pause.
func (a *asker) rest(o object, one *asked, err error) {
	a.mu.Lock()
	one.err = err
	a.mu.Unlock()
	time.AfterFunc(a.pause, func() { a.end(o) })
}

// end ends an object's pause, or begins another one with a request.
func (a *asker) end(o object) {
	a.mu.Lock()
	one := a.asked[o]
	if one == nil || !one.again || a.closed {
		delete(a.asked, o)
		a.mu.Unlock()
		return
	}
	one.again = false
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), trailingTimeout)
	defer cancel()
	err := a.annotate(ctx, o)
	if err != nil {
		a.log.Error("requesting a reconciliation failed", "object", o.String(), "error", err)
	}
	a.rest(o, one, err)
}

// close ends all pauses without another request, because the API stops.
func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// annotate sets the annotation, independently of other changes of the object.
func (a *asker) annotate(ctx context.Context, o object) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		meta.ReconcileRequestAnnotation: time.Now().Format(time.RFC3339Nano)}}})
	if err != nil {
		return err
	}
	if err := a.writer.Patch(ctx, o.metadata(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("annotate %s: %w", o, err)
	}
	return nil
}
