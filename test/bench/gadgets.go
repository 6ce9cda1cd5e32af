// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxSkew is the number of tenants that the rollout may update at the same time.
	maxSkew = 10
	// gadgetDelay is how long a changed gadget takes to become ready.
	gadgetDelay = 100 * time.Millisecond
)

// gadgetKind is a kind whose objects the benchmark makes ready.
var gadgetKind = schema.GroupVersionKind{Group: "bench.yuba.dev", Version: "v1", Kind: "Gadget"}

const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.bench.yuba.dev}
spec:
  group: bench.yuba.dev
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: string}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`

const rolloutTemplate = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: waves, namespace: ` + namespace + `}
spec:
  registryId: bench
  rollout: {maxSkew: %d}
  manifests:
  - id: gadget
    nameTemplate: "{{ .uid }}"
    spec: {apiVersion: bench.yuba.dev/v1, kind: Gadget, spec: {size: first}}
`

// gadget is an entry of the template's manifests, with another size.
func gadget(size string) string {
	return fmt.Sprintf(`{"id":"gadget","nameTemplate":"{{ .uid }}","spec":{"apiVersion":"bench.yuba.dev/v1","kind":"Gadget","spec":{"size":%q}}}`, size)
}

// gadgets is the controller of gadgets, as far as this benchmark needs one.
type gadgets struct {
	client client.Client
	stop   func()
	work   sync.WaitGroup

	mu  sync.Mutex
	err error
}

// serveGadgets creates the kind, and makes objects ready with a delay until it is stopped.
func (t *tenants) serveGadgets(ctx context.Context) (*gadgets, error) {
	if err := t.apply(ctx, gadgetDefinition); err != nil {
		return nil, err
	}
	watching, err := t.watchGadgets(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	g := &gadgets{client: t.client}
	g.stop = func() {
		cancel()
		watching.Stop()
		g.work.Wait()
	}
	g.work.Go(func() {
		for e := range watching.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == watch.Deleted || e.Type == watch.Error || observed(o) {
				continue
			}
			g.work.Go(func() { g.note(g.finish(ctx, o)) })
		}
	})
	return g, nil
}

// watchGadgets watches as soon as the kind is served.
func (t *tenants) watchGadgets(ctx context.Context) (watch.Interface, error) {
	deadline, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		w, err := t.client.Watch(ctx, listOf(gadgetKind), client.InNamespace(namespace))
		if err == nil {
			return w, nil
		}
		if pause(deadline, 100*time.Millisecond) != nil {
			return nil, fmt.Errorf("watch gadgets: %w", err)
		}
	}
}

// finish makes a gadget ready, unless it has changed again meanwhile.
func (g *gadgets) finish(ctx context.Context, o *unstructured.Unstructured) error {
	if pause(ctx, gadgetDelay) != nil {
		return nil // the benchmark is over
	}
	// The version of the object is in it, so that an older one is not called ready.
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"status":{"observedGeneration":%d,"conditions":[`+
		`{"type":"Ready","status":"True","reason":"Made","message":"","lastTransitionTime":%q}]}}`,
		o.GetResourceVersion(), o.GetGeneration(), time.Now().UTC().Format(time.RFC3339))
	err := g.client.Status().Patch(ctx, named(gadgetKind, o.GetName()), client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return nil // another event follows
	}
	return err
}

func (g *gadgets) note(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = errors.Join(g.err, err)
}

// failed is the error so far.
func (g *gadgets) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
