// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

// Reconciler reconciles PullRequestPlanners.
type Reconciler struct {
	// Client reads from the cache and writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Open opens a connection to a forge.
	Open    func(forge.Config) (forge.Forge, error)
	Sources Sources
	Plans   Plans
	// Impact finds out what follows; nil if nothing does.
	Impact Impact
	// Owners finds the owners of files, as the file CODEOWNERS of a forge says; nil if nobody asks.
	Owners func(kind forge.Kind, place string, text []byte, files []string) ([][]string, error)
	// Approve approves the pending plan of a stack. Repeated, it changes nothing.
	Approve func(ctx context.Context, a Approval) error
	Store   Store
	// AllowCrossNamespace lets stacks of other namespaces follow a GitRepository.
	AllowCrossNamespace bool
	// Busy is told whether passes find out what a webhook is about, until plans begin; nil if nobody asks.
	Busy func(bool)
	Log  *slog.Logger

	now      func() time.Time
	ctx      context.Context
	fresh    *fresh.Reader
	memories memories
	window   hook.Window
	reading  *limiter.Limiter
	looking  passes
	woken    chan event.GenericEvent
}

const (
	// workers is the number of concurrent passes. A pass waits for its forge.
	workers = 8
	// passTimeout limits a pass, all requests to forges and fetches together.
	passTimeout = 5 * time.Minute
)

// SetupWithManager adds the controller to the manager; plans end with ctx.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.ctx, r.now, r.fresh = ctx, time.Now, fresh.New(mgr.GetCache(), r.Reader)
	r.woken, r.reading = make(chan event.GenericEvent), limiter.New(hookBodies)
	if err := (branchPlanners{r}).setup(mgr); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.sweep)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("pullrequestplanner").
		For(&yubav1.PullRequestPlanner{}, builder.WithPredicates(reconciling.Triggers())).
		WatchesRawSource(ctrlsource.Channel(r.woken, &handler.EnqueueRequestForObject{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.naming), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&sourcev1.GitRepository{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.Terraform{}, handler.EnqueueRequestsFromMapFunc(r.awaiting)).
		WithOptions(reconciling.Options(workers)).
		Complete(r)
}

// naming finds the planners that name a Secret.
func (r *Reconciler) naming(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.planners(ctx, secret.GetNamespace(), func(o *yubav1.PullRequestPlanner) bool {
		return o.Spec.Forge.SecretRef.Name == secret.GetName() || o.Spec.Webhook != nil && o.Spec.Webhook.SecretRef.Name == secret.GetName() ||
			o.Spec.Forge.CertSecretRef != nil && o.Spec.Forge.CertSecretRef.Name == secret.GetName()
	})
}

// inNamespace finds the planners beside a GitRepository.
func (r *Reconciler) inNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.planners(ctx, o.GetNamespace(), func(*yubav1.PullRequestPlanner) bool { return true })
}

func (r *Reconciler) planners(ctx context.Context, namespace string, wanted func(*yubav1.PullRequestPlanner) bool) (requests []reconcile.Request) {
	var list yubav1.PullRequestPlannerList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error("cannot list the PullRequestPlanners", "namespace", namespace, "error", err)
		return nil
	}
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// awaiting finds the planners that wait for a stack to plan or apply a merged pull request.
func (r *Reconciler) awaiting(_ context.Context, o client.Object) (requests []reconcile.Request) {
	drifts, known := false, false
	if t, ok := o.(*infrav1.Terraform); ok {
		drifts, known = drifted(t)
	}
	for _, name := range r.memories.awaiting(o.GetNamespace()+"/"+o.GetName(), drifts, known) {
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

// wake makes the next pass over a planner begin.
func (r *Reconciler) wake(name types.NamespacedName) {
	o := &yubav1.PullRequestPlanner{}
	o.Namespace, o.Name = name.Namespace, name.Name
	select {
	case r.woken <- event.GenericEvent{Object: o}:
	case <-r.ctx.Done():
	}
}

// Reconcile makes a pass over a planner.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// 1. Gather.
	o := &yubav1.PullRequestPlanner{}
	err := r.fresh.Get(ctx, req.NamespacedName, o)
	if apierrors.IsNotFound(err) || err == nil && !o.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.forget(ctx, req.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read PullRequestPlanner %s: %w", req.NamespacedName, err)
	}
	m, err := r.recall(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 2. Decide and act, for each pull request.
	before := o.DeepCopy()
	var next time.Duration
	if o.Spec.Suspend {
		m.stop()
		suspended(o)
	} else {
		limited, cancel := context.WithTimeout(ctx, passTimeout)
		problem := r.pass(limited, o, m)
		cancel()
		if ctx.Err() != nil {
			return ctrl.Result{}, nil // the server is stopping: failures now say nothing about the forge
		}
		next = m.next(r.now())
		settle(o, m, problem)
	}
	// 3. Record.
	if err := r.record(ctx, o, before); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// forget ends everything about a planner that is gone.
func (r *Reconciler) forget(ctx context.Context, name types.NamespacedName) error {
	m := r.memories.drop(name)
	if m == nil {
		return nil
	}
	m.stop()
	if err := r.releaseAll(ctx, func(h *infrav1.PullRequestHold) bool { return h.Planner == m.uid }); err != nil {
		r.memories.add(m) // to be tried again
		return err
	}
	if err := r.unpinAll(ctx, func(uid string) bool { return uid == m.uid }); err != nil {
		r.memories.add(m)
		return err
	}
	return r.eraseAll(ctx, m)
}
