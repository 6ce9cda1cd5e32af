// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// The indexes: platforms by the Secrets that they name, as NAMESPACE/NAME, and by their DNS name; stacks by
// their platform.
const (
	indexSecret = "yuba.platforms.secret"
	indexDomain = "yuba.platforms.domain"
	indexStack  = "yuba.platforms.stack"
	// indexClaim is of committed SubdomainClaims, by their domain.
	indexClaim = "yuba.platforms.claim"
)

// Reconciler keeps the stacks of platforms.
type Reconciler struct {
	// Client reads the cache, and writes.
	Client client.Client
	// Direct reads and writes Secrets in the API itself.
	Direct client.Client
	Events events.EventRecorder
	// CallHome is where new nodes put their kubeconfig; nil if the server takes none.
	CallHome *plan.CallHome
	// Prepare makes the Secrets of a region that the call home needs; nil without CallHome.
	Prepare func(ctx context.Context, p *yubav1.Platform, region string) error
	// Resolve asks a resolver for a record, and says what is wrong with it; nil if nobody is asked. An empty resolver is
	// that of this machine.
	Resolve func(ctx context.Context, resolver, name, kind string, addresses []string) (wrong string, err error)
	Now     func() time.Time
	Log     *slog.Logger

	written   sync.Map
	inquiries *inquiries
	// acquiring is held while a platform gets its DNS name.
	acquiring sync.Mutex
}

// SetupWithManager starts the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.inquiries = newInquiries(ctx)
	platforms, stacks := &yubav1.Platform{}, &infrav1.Terraform{}
	for _, index := range []struct {
		kind client.Object
		name string
		keys client.IndexerFunc
	}{
		{platforms, indexSecret, func(o client.Object) []string { return secretsOf(o.(*yubav1.Platform)) }},
		{platforms, indexDomain, func(o client.Object) []string { return []string{o.(*yubav1.Platform).Spec.Domain.FQDN} }},
		{stacks, indexStack, func(o client.Object) []string { return platformOf(o) }},
		{&yubav1.SubdomainClaim{}, indexClaim, claimedDomain},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.kind, index.name, index.keys); err != nil {
			return fmt.Errorf("index platforms: %w", err)
		}
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := ctrl.NewControllerManagedBy(mgr).Named("platform").
		For(platforms, builder.WithPredicates(reconciling.Triggers())).
		Watches(stacks, handler.EnqueueRequestsFromMapFunc(r.ofStack)).
		Watches(&yubav1.Platform{}, handler.EnqueueRequestsFromMapFunc(r.namesakes)).
		Watches(&yubav1.SubdomainClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim), builder.WithPredicates(claims())).
		WatchesMetadata(secrets, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return reconciling.Find(ctx, r.Client, r.Log, &yubav1.PlatformList{}, indexSecret, o.GetNamespace()+"/"+o.GetName())
		})).
		WatchesRawSource(source.Channel(r.inquiries.ended, &handler.EnqueueRequestForObject{})).
		WithOptions(reconciling.Options(4)).Complete(reconcile.Func(r.reconcile))
	if err != nil {
		return fmt.Errorf("set up the controller of Platforms: %w", err)
	}
	return nil
}

// platformOf is the platform that a stack's label names, as NAMESPACE/NAME.
func platformOf(o client.Object) []string {
	if name := o.GetLabels()[yubav1.LabelPlatform]; name != "" {
		return []string{o.GetNamespace() + "/" + name}
	}
	return nil
}

func (r *Reconciler) ofStack(_ context.Context, o client.Object) []reconcile.Request {
	if name := o.GetLabels()[yubav1.LabelPlatform]; name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
	}
	return nil
}

// namesakes are the other platforms with the DNS name of one that changed: the name may be free.
func (r *Reconciler) namesakes(ctx context.Context, o client.Object) (others []reconcile.Request) {
	p := o.(*yubav1.Platform) //nolint:forcetypeassert // of the kind that is watched
	for _, request := range reconciling.Find(ctx, r.Client, r.Log, &yubav1.PlatformList{}, indexDomain, p.Spec.Domain.FQDN) {
		if request.NamespacedName != client.ObjectKeyFromObject(o) {
			others = append(others, request)
		}
	}
	return others
}

// secretsOf are the Secrets that a platform names or makes, as NAMESPACE/NAME.
func secretsOf(p *yubav1.Platform) (keys []string) {
	for _, name := range namedSecrets(&p.Spec) {
		keys = append(keys, p.Namespace+"/"+name)
	}
	for i := range p.Spec.Regions {
		for _, what := range []string{plan.KubeconfigSecret, plan.TokenSecret} {
			keys = append(keys, p.Namespace+"/"+plan.SecretName(p.Name, p.Spec.Regions[i].Name, what))
		}
	}
	return keys
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p yubav1.Platform
	if err := r.Client.Get(ctx, req.NamespacedName, &p); err != nil {
		r.inquiries.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() && moving.Held(&p) != "" {
		// What is here is a copy: its stacks are marked, too, and the home that makes the platform keeps everything.
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, &p, yubav1.PlatformFinalizer)
	}
	if !p.DeletionTimestamp.IsZero() && !p.Spec.Decommission {
		return r.leave(ctx, &p)
	}
	before := p.DeepCopy()
	if wanted := p.DeepCopy(); p.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(wanted, yubav1.PlatformFinalizer) {
		if err := reconciling.SetFinalizers(ctx, r.Client, &p, before, wanted.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	done, err := r.pass(ctx, &p)
	if ctx.Err() != nil { // the server ends
		return ctrl.Result{}, nil
	}
	if err != nil {
		return reconciling.Again(err)
	}
	if !p.DeletionTimestamp.IsZero() && done.gone {
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, &p, yubav1.PlatformFinalizer)
	}
	p.Status.ObservedGeneration = p.Generation
	p.Status.LastHandledReconcileAt = p.Annotations[infrav1.AnnotationReconcile]
	if err := reconciling.PatchStatus(ctx, r.Client, before, &p); err != nil {
		if ctx.Err() != nil { // the server ends
			return ctrl.Result{}, nil
		}
		return reconciling.Again(err)
	}
	for _, n := range newsOf(before, &p) {
		reconciling.Event(r.Events, &p, n.severity, n.reason, "Bootstrap", n.message)
	}
	return ctrl.Result{RequeueAfter: done.after}, nil
}

// leave frees the stacks of a deleted platform: they stay as they are.
func (r *Reconciler) leave(ctx context.Context, p *yubav1.Platform) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p, yubav1.PlatformFinalizer) {
		return ctrl.Result{}, nil
	}
	stacks, err := r.stacksOf(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range stacks {
		before := stacks[i].DeepCopy()
		for _, label := range []string{yubav1.LabelPlatform, yubav1.LabelPlatformPhase, yubav1.LabelPlatformRegion, yubav1.LabelPlatformComponent} {
			delete(stacks[i].Labels, label)
		}
		if err := r.Client.Patch(ctx, &stacks[i], client.MergeFrom(before), fieldOwner); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("leave the stack %s of the deleted platform %s: %w", stacks[i].Name, p.Name, err)
		}
	}
	return ctrl.Result{}, reconciling.Release(ctx, r.Client, p, yubav1.PlatformFinalizer)
}

// news is an event.
type news struct{ severity, reason, message string }

// newsOf are the events of a pass: phases that became ready, and another reason of the condition Ready.
func newsOf(before, after *yubav1.Platform) (all []news) {
	was := map[string]yubav1.PlatformPhaseState{}
	for _, phase := range before.Status.Phases {
		was[phase.Name] = phase.State
	}
	for _, phase := range after.Status.Phases {
		if phase.State == yubav1.PhaseReady && was[phase.Name] != phase.State {
			all = append(all, news{corev1.EventTypeNormal, yubav1.ReasonPlatformPhaseReady, phase.Name + " is ready"})
		}
	}
	if !hasName(before) && hasName(after) {
		held := conditions.Of(after, yubav1.ConditionDomainHeld)
		all = append(all, news{corev1.EventTypeNormal, held.Reason, held.Message})
	}
	if was, is := conditions.Of(before, yubav1.ConditionRecordsPresent), conditions.Of(after, yubav1.ConditionRecordsPresent); is.Reason != "" && is.Reason != yubav1.ReasonRecordsAsked && was.Reason != is.Reason {
		severity := corev1.EventTypeNormal
		if is.Status != metav1.ConditionTrue {
			severity = corev1.EventTypeWarning
		}
		all = append(all, news{severity, is.Reason, is.Message})
	}
	old, now := conditions.Of(before, infrav1.ConditionReady), conditions.Of(after, infrav1.ConditionReady)
	if old.Reason == now.Reason || now.Reason == yubav1.ReasonPlatformProgressing {
		return all
	}
	severity := corev1.EventTypeNormal
	switch now.Reason {
	case yubav1.ReasonPlatformPhaseFailed, yubav1.ReasonPlatformInvalid, yubav1.ReasonPlatformDomainTaken, yubav1.ReasonPlatformNameTaken, yubav1.ReasonPlatformCredentials:
		severity = corev1.EventTypeWarning
	}
	return append(all, news{severity, now.Reason, now.Message})
}
