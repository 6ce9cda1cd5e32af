// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// retry is when a store that failed is tried again, and soon when somebody else wrote at the same time.
const (
	retry = 30 * time.Second
	soon  = time.Second
)

// The indexes of bridges: by the producer, the contract, and the objects that they read, each as
// NAMESPACE/NAME.
const (
	indexProducer = "yuba.bridges.producer"
	indexContract = "yuba.bridges.contract"
	indexObject   = "yuba.bridges.object"
)

// Reconciler keeps documents and revisions equal.
type Reconciler struct {
	Book *contracts.Book
	// Client reads the cache and writes status.
	Client client.Client
	// Direct reads and writes Secrets and ConfigMaps in the API itself.
	Direct client.Client
	// Outside reaches the servers that bridges name; see [store.Client].
	Outside *http.Client
	// Outputs reads the outputs of a stack, each as of `tofu output -json`; none while they are not
	// known.
	Outputs func(ctx context.Context, t *infrav1.Terraform) (map[string]json.RawMessage, error)
	// Wake has a stack reconciled. It must not block.
	Wake   func(types.NamespacedName)
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// remotes are the clients of other clusters.
	remotes remotes
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	for index, key := range map[string]func(*yubav1.ContractBridge) []string{indexProducer: producerKey, indexContract: contractKey, indexObject: objectKeys} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &yubav1.ContractBridge{}, index, func(o client.Object) []string { return key(o.(*yubav1.ContractBridge)) })
		if err != nil {
			return fmt.Errorf("index bridges: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("contractbridge").
		For(&yubav1.ContractBridge{}, builder.WithPredicates(reconciling.Triggers())).
		Watches(&yubav1.ContractBridge{}, r.published()).
		Watches(&infrav1.Terraform{}, r.producers()).
		Watches(&yubav1.Contract{}, handler.EnqueueRequestsFromMapFunc(r.by(indexContract, "")))
	for _, kind := range []string{"Secret", "ConfigMap"} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		b = b.WatchesMetadata(o, handler.EnqueueRequestsFromMapFunc(r.by(indexObject, kind+"/")))
	}
	if err := b.WithOptions(reconciling.Options(4)).Complete(reconcile.Func(r.reconcile)); err != nil {
		return fmt.Errorf("set up the controller of ContractBridges: %w", err)
	}
	return nil
}

// by finds the bridges that an object concerns.
func (r *Reconciler) by(index, prefix string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.Client, r.Log, &yubav1.ContractBridgeList{}, index, prefix+o.GetNamespace()+"/"+o.GetName())
	}
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// producers reconciles the bridges of a stack that published.
func (r *Reconciler) producers() handler.EventHandler {
	find := r.by(indexProducer, "")
	add := func(ctx context.Context, o client.Object, q requests) {
		for _, req := range find(ctx, o) {
			q.Add(req)
		}
	}
	gives := func(o client.Object) (list []infrav1.PublishedRevision, outputs string, grants []infrav1.OutputGrant) {
		t := o.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
		if c := t.Status.Contracts; c != nil {
			list = c.Published
		}
		return list, t.Status.OutputsDigest, t.Spec.OutputGrants
	}
	same := func(was, is client.Object) bool {
		list, outputs, grants := gives(was)
		listNow, outputsNow, grantsNow := gives(is)
		return outputs == outputsNow && equality.Semantic.DeepEqual(list, listNow) && equality.Semantic.DeepEqual(grants, grantsNow)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { add(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if !same(e.ObjectOld, e.ObjectNew) {
				add(ctx, e.ObjectNew, q)
			}
		},
	}
}

// published wakes the consumers of a bridge in, once the cache has what they will read.
func (r *Reconciler) published() handler.EventHandler {
	wake := func(ctx context.Context, o client.Object) {
		consumers, err := r.Book.Consumers(ctx, client.ObjectKeyFromObject(o))
		if err != nil {
			r.Log.Error("cannot find the consumers of a bridge", "bridge", o.GetNamespace()+"/"+o.GetName(), "error", err)
		}
		for _, name := range consumers {
			r.Wake(name)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ requests) { wake(ctx, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ requests) { wake(ctx, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ requests) {
			was, is := e.ObjectOld.(*yubav1.ContractBridge), e.ObjectNew.(*yubav1.ContractBridge) //nolint:forcetypeassert // of the kind that is watched
			if !equality.Semantic.DeepEqual(publishes(was), publishes(is)) {
				wake(ctx, is)
			}
		},
	}
}

// publishes are the revisions that a bridge in stands for.
func publishes(b *yubav1.ContractBridge) []infrav1.PublishedRevision {
	s := &b.Status
	if b.Spec.Direction != yubav1.BridgeIn || s.Revision == 0 || !b.DeletionTimestamp.IsZero() {
		return nil
	}
	return []infrav1.PublishedRevision{{Contract: b.Spec.Contract, Version: s.Version, Number: s.Revision, Digest: s.Digest, PublishedAt: s.SyncedAt}}
}

// Elsewhere finds the bridge that stands for a stack that is not here.
func Elsewhere(cache client.Reader) contracts.Elsewhere {
	return func(ctx context.Context, name types.NamespacedName) (*contracts.Foreign, error) {
		var b yubav1.ContractBridge
		err := cache.Get(ctx, name, &b, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) || err == nil && b.Spec.Direction != yubav1.BridgeIn {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read bridge %s: %w", name, err)
		}
		return &contracts.Foreign{Salt: string(b.UID), Labels: b.Labels, Published: publishes(&b)}, nil
	}
}

// reconcile makes document and revision of a bridge equal.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var b yubav1.ContractBridge
	if err := r.Client.Get(ctx, req.NamespacedName, &b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !b.DeletionTimestamp.IsZero() {
		return r.release(ctx, &b)
	}
	before := b.DeepCopy()
	leaves := keepsRevisions(&b) || b.Spec.Prune
	if wanted := b.DeepCopy(); leaves && controllerutil.AddFinalizer(wanted, yubav1.ContractBridgeFinalizer) ||
		!leaves && controllerutil.RemoveFinalizer(wanted, yubav1.ContractBridgeFinalizer) {
		if err := reconciling.SetFinalizers(ctx, r.Client, &b, before, wanted.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	o, err := r.carry(ctx, &b)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("bridge %s: %w", req, err)
	}
	b.Status.ObservedGeneration = b.Generation
	b.Status.LastHandledReconcileAt = b.Annotations[infrav1.AnnotationReconcile]
	status := metav1.ConditionFalse
	if o.reason == yubav1.ReasonBridgeSynced {
		status = metav1.ConditionTrue
	}
	conditions.Set(&b, infrav1.ConditionReady, status, o.reason, infrav1.TrimMessage(o.message))
	if err := reconciling.PatchStatus(ctx, r.Client, before, &b); err != nil {
		return reconciling.Again(err)
	}
	for _, n := range newsOf(before, &b, o) {
		reconciling.Event(r.Events, &b, n.severity, n.reason, action[b.Spec.Direction], n.message)
	}
	return ctrl.Result{RequeueAfter: o.after}, nil
}

// release gives back what a deleted bridge holds: a document that it wrote, or its revisions.
func (r *Reconciler) release(ctx context.Context, b *yubav1.ContractBridge) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(b, yubav1.ContractBridgeFinalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.prune(ctx, b); err != nil {
		r.Log.Warn("the document of a deleted bridge is not removed yet; set spec.prune to false to leave it", "bridge", b.Namespace+"/"+b.Name, "error", err)
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	if keepsRevisions(b) {
		if err := r.Book.Store.Forget(ctx, string(b.UID)); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, reconciling.Release(ctx, r.Client, b, yubav1.ContractBridgeFinalizer)
}

// prune removes the document if it is the one that the bridge wrote.
func (r *Reconciler) prune(ctx context.Context, b *yubav1.ContractBridge) error {
	if b.Spec.Direction == yubav1.BridgeIn || !b.Spec.Prune || b.Status.Synced == "" {
		return nil
	}
	place, err := r.open(ctx, b)
	if p := new(problem); asProblem(err, &p) {
		return nil // the credentials are gone, as when the namespace is deleted
	}
	if err != nil {
		return err
	}
	d, err := place.Read(ctx)
	if err != nil || d.Content == nil {
		return err
	}
	reading, err := r.read(ctx, b)
	if err != nil {
		return err
	}
	// What was written had private parts if its digest is keyed, although nothing may be published now.
	private := reading.Private || strings.HasPrefix(b.Status.Synced, revisions.Keyed)
	if theirs, unreadable := digestOf(d, reading.History, private); unreadable != "" || theirs != b.Status.Synced {
		return nil // somebody else's, or it cannot be told: it stays
	}
	return place.Delete(ctx, d.Tag)
}
