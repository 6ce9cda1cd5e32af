// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Keeper admits the versions of contracts, sums up what is published, and wakes the stacks that a
// change concerns.
type Keeper struct {
	*Book
	// Client reads the cache and writes status.
	Client client.Client
	// Wake has a stack reconciled. It must not block.
	Wake   func(types.NamespacedName)
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger
}

// SetupWithManager starts the controller.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(namespaceKind)
	err := ctrl.NewControllerManagedBy(mgr).Named("contract").
		For(&yubav1.Contract{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.Terraform{}, k.stacks()).
		WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(k.relabeled), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(reconciling.Options(1)).
		Complete(reconcile.Func(k.reconcile))
	if err != nil {
		return fmt.Errorf("set up the controller of contracts: %w", err)
	}
	return nil
}

// reconcile brings the status of a contract up to date.
func (k *Keeper) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var c yubav1.Contract
	err := k.Client.Get(ctx, req.NamespacedName, &c)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, k.wakeAll(ctx, req.String())
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read contract %s: %w", req, err)
	}
	publishes, err := k.indexed(ctx, indexPublished, req.String())
	if err != nil {
		return ctrl.Result{}, err
	}
	before := c.DeepCopy()
	describe(ctx, &c, publishes, k.Now())
	if err := reconciling.PatchStatus(ctx, k.Client, before, &c); err != nil {
		return ctrl.Result{}, err
	}
	for _, n := range newsOf(before, &c) {
		reconciling.Event(k.Events, &c, n.severity, n.reason, n.action, n.message)
	}
	if before.Status.ObservedGeneration != c.Generation || !equality.Semantic.DeepEqual(before.Status.Versions, c.Status.Versions) {
		k.await(ctx, before)
		return ctrl.Result{}, k.wakeAll(ctx, req.String())
	}
	return ctrl.Result{}, nil
}

// await waits until the cache has another version of a contract, which was just written: the stacks
// read it there.
func (k *Keeper) await(ctx context.Context, before *yubav1.Contract) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		var c yubav1.Contract
		err := k.Client.Get(ctx, client.ObjectKeyFromObject(before), &c, client.UnsafeDisableDeepCopy)
		if err != nil || c.ResourceVersion != before.ResourceVersion {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// wakeAll wakes the stacks that publish or consume a contract.
func (k *Keeper) wakeAll(ctx context.Context, contract string) error {
	for _, index := range []string{indexPublished, indexConsumed} {
		list, err := k.indexed(ctx, index, contract)
		if err != nil {
			return err
		}
		for i := range list {
			k.Wake(client.ObjectKeyFromObject(&list[i]))
		}
	}
	return nil
}

// relabeled wakes the consumers in a namespace whose labels have changed: contracts may grant it
// something now.
func (k *Keeper) relabeled(ctx context.Context, namespace client.Object) []reconcile.Request {
	var list infrav1.TerraformList
	if err := k.Cache.List(ctx, &list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		k.Log.Warn("the stacks of a namespace with new labels cannot be listed, so they may notice new grants late", "namespace", namespace.GetName(), "error", err)
	}
	for i := range list.Items {
		if len(list.Items[i].Spec.Consumes) > 0 {
			k.Wake(client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return nil
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// stacks wakes the relatives of a stack that publishes or consumes something else, and reconciles the
// contracts whose revisions have changed.
func (k *Keeper) stacks() handler.EventHandler {
	both := func(ctx context.Context, o client.Object, q requests) {
		t := o.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
		k.wakeConsumers(ctx, t)
		k.wakeProducers(t)
		enqueue(q, publishedBy(t))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { both(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { both(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			was, is := e.ObjectOld.(*infrav1.Terraform), e.ObjectNew.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
			if !equality.Semantic.DeepEqual(published(was), published(is)) || cycle(was) != cycle(is) {
				k.wakeConsumers(ctx, is)
			}
			if !sameDeclarations(was, is) || cycle(was) != cycle(is) || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() {
				k.wakeProducers(was)
				k.wakeProducers(is)
			}
			if before, now := publishedBy(was), publishedBy(is); !slices.Equal(before, now) || !equality.Semantic.DeepEqual(published(was), published(is)) {
				enqueue(q, before)
				enqueue(q, now)
			}
		},
	}
}

func cycle(t *infrav1.Terraform) bool {
	return conditions.Of(t, infrav1.ConditionReady).Reason == infrav1.ReasonDependencyCycle
}

// sameDeclarations compares what producers are judged by.
func sameDeclarations(was, is *infrav1.Terraform) bool {
	return equality.Semantic.DeepEqual(was.Spec.Consumes, is.Spec.Consumes) && slices.EqualFunc(consumes(was), consumes(is), func(a, b infrav1.ConsumedContract) bool {
		a.Read, b.Read = nil, nil
		return equality.Semantic.DeepEqual(a, b)
	})
}

func consumes(t *infrav1.Terraform) []infrav1.ConsumedContract {
	if t.Status.Contracts == nil {
		return nil
	}
	return t.Status.Contracts.Consumes
}

// wakeConsumers wakes the consumers of a stack, at first those that may have something to do: their
// runs need not wait until hundreds of others have found that their part is the same.
func (k *Keeper) wakeConsumers(ctx context.Context, t *infrav1.Terraform) {
	list, err := k.indexed(ctx, indexProducers, t.Namespace+"/"+t.Name)
	if err != nil {
		k.Log.Error("cannot find the consumers of a stack", "stack", t.Namespace+"/"+t.Name, "error", err)
	}
	var others []types.NamespacedName
	for i := range list {
		if name := client.ObjectKeyFromObject(&list[i]); k.same(ctx, &list[i]) {
			others = append(others, name)
		} else {
			k.Wake(name)
		}
	}
	for _, name := range others {
		k.Wake(name)
	}
}

// same reports whether a consumer at rest reads what its last apply read, as far as its status tells.
func (k *Keeper) same(ctx context.Context, t *infrav1.Terraform) bool {
	parts := map[string]string{}
	for _, c := range consumes(t) {
		if c.Read == nil {
			return false
		}
		parts[c.As] = c.Read.Part
	}
	if t.Status.Plan.Pending != "" || len(parts) == 0 {
		return false
	}
	moved, err := k.Moved(ctx, t, parts)
	return err == nil && moved == ""
}

func (k *Keeper) wakeProducers(t *infrav1.Terraform) {
	for _, c := range t.Spec.Consumes {
		k.Wake(producerOf(t, c))
	}
}

// enqueue reconciles contracts.
func enqueue(q requests, contracts []string) {
	for _, name := range contracts {
		q.Add(reconcile.Request{NamespacedName: named(name)})
	}
}

func named(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
