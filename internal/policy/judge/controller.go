// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Keeper reports in the status of policies whether they can be used, and wakes the stacks that a
// changed policy concerns.
type Keeper struct {
	*Judge
	// Client reads the cache and writes status.
	Client client.Client
	// Subjects lists the stacks of a namespace; empty for all.
	Subjects func(ctx context.Context, namespace string) ([]Subject, error)
	// Wake has a stack reconciled. It must not block.
	Wake func(Subject)
	Log  *slog.Logger
	// Events reports what happens to policies; nil for nobody.
	Events events.EventRecorder
	// Sources read the sources of rules in Rego, of SourceKinds; nil for none.
	Sources     Sources
	SourceKinds []schema.GroupVersionKind

	// sweepAt is when stored bundles are searched for unused ones; zero for never.
	sweepMu sync.Mutex
	sweepAt time.Time
	swept   bool

	// woken has the rules from sources, by the policies' names, for which stacks were woken.
	woken sync.Map
}

// SetupWithManager starts the controllers of both kinds.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, otherBundles))
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	relabeled := builder.WithPredicates(predicate.LabelChangedPredicate{})
	global := ctrl.NewControllerManagedBy(mgr).Named("clusterpolicy").
		For(&yubav1.ClusterPolicy{}, changed).
		WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(k.relabeled), relabeled).
		WithOptions(reconciling.Options(1))
	local := ctrl.NewControllerManagedBy(mgr).Named("policy").For(&yubav1.Policy{}, changed).WithOptions(reconciling.Options(1))
	for _, kind := range k.SourceKinds {
		global = global.WatchesMetadata(sourceMetadata(kind), k.readers(kind.Kind, false))
		local = local.WatchesMetadata(sourceMetadata(kind), k.readers(kind.Kind, true))
	}
	err := global.Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		return reconcilePolicy(ctx, k, req, &yubav1.ClusterPolicy{}, k.ofCluster)
	}))
	if err != nil {
		return fmt.Errorf("set up the controller of ClusterPolicies: %w", err)
	}
	err = local.Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		return reconcilePolicy(ctx, k, req, &yubav1.Policy{}, k.ofNamespace)
	}))
	if err != nil {
		return fmt.Errorf("set up the controller of Policies: %w", err)
	}
	return nil
}

// relabeled wakes the stacks of a namespace whose labels have changed: other policies may select
// them now. The policies themselves are the same.
func (k *Keeper) relabeled(ctx context.Context, namespace client.Object) []reconcile.Request {
	stacks, err := k.Subjects(ctx, namespace.GetName())
	if err != nil {
		k.Log.Warn("the stacks of a namespace with new labels cannot be listed, so policies may judge them late", "namespace", namespace.GetName(), "error", err)
	}
	for _, s := range stacks {
		k.Wake(s)
	}
	return nil
}

// object is a policy of one of the kinds.
type object interface {
	client.Object
	conditions.Object
	State() *yubav1.PolicyStatus
}

func reconcilePolicy[P object](ctx context.Context, k *Keeper, req ctrl.Request, obj P, of func(P) *policy) (ctrl.Result, error) {
	err := k.Client.Get(ctx, req.NamespacedName, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("read policy %s: %w", req, err)
	}
	gone := err != nil || !obj.GetDeletionTimestamp().IsZero()
	name := yubav1.PolicyKind + "/" + req.String()
	if req.Namespace == "" {
		name = yubav1.ClusterPolicyKind + "/" + req.Name
	}
	woken, _ := k.woken.Load(name)
	if inForce := bundlesText(obj.State().Bundles); gone || obj.State().ObservedGeneration != obj.GetGeneration() || woken != nil && woken != inForce {
		// Also stacks that it does not select: they may have been selected before.
		stacks, err := k.Subjects(ctx, req.Namespace)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("list the stacks that policy %s may select: %w", req, err)
		}
		for _, s := range stacks {
			k.Wake(s)
		}
	}
	if gone {
		k.woken.Delete(name)
		k.prepared.Delete(name)
		return k.sweep(ctx, true)
	}
	k.woken.Store(name, bundlesText(obj.State().Bundles))
	before := obj.DeepCopyObject().(P)
	p, found := gatherBundles(ctx, k, obj, of)
	describe(obj, p, found)
	if err := reconciling.PatchStatus(ctx, k.Client, before, obj); err != nil {
		return ctrl.Result{}, err
	}
	k.tell(before, obj)
	if found.retry {
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	return k.sweep(ctx, !sameBundles(before.State().Bundles, obj.State().Bundles))
}

// otherBundles passes updates after which other rules from sources are in force. Stacks are woken only
// then: before, the cache has the old ones.
var otherBundles = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(object)
		now, okNow := e.ObjectNew.(object)
		return okOld && okNow && !sameBundles(old.State().Bundles, now.State().Bundles)
	},
}

func bundlesText(bundles []yubav1.PolicyBundle) string {
	var text strings.Builder
	for _, b := range bundles {
		text.WriteString(b.Source + " " + b.Path + " " + b.Digest + "\n")
	}
	return text.String()
}

// describe writes the status.
func describe(obj object, p *policy, found state) {
	obj.State().ObservedGeneration = obj.GetGeneration()
	rules := fmt.Sprintf("%d rules", len(p.spec.Rules))
	if len(p.spec.Rules) == 1 {
		rules = "1 rule"
	}
	problems := append(p.problems(), found.problems...)
	switch {
	case len(problems) > 0 && p.spec.Enforcement == yubav1.PolicyAudit:
		conditions.Set(obj, "Ready", metav1.ConditionFalse, yubav1.ReasonPolicyInvalid, strings.Join(problems, "; "))
	case len(problems) > 0:
		conditions.Set(obj, "Ready", metav1.ConditionFalse, yubav1.ReasonPolicyInvalid,
			"No plan passes until this is fixed: "+strings.Join(problems, "; "))
	case len(found.troubles) > 0:
		conditions.Set(obj, "Ready", metav1.ConditionFalse, yubav1.ReasonPolicyLastBundle, strings.Join(found.troubles, "; "))
	case p.spec.Enforcement == yubav1.PolicyAudit:
		conditions.Set(obj, "Ready", metav1.ConditionTrue, yubav1.ReasonPolicyAudited, rules+"; what they find is recorded and changes nothing")
	default:
		conditions.Set(obj, "Ready", metav1.ConditionTrue, yubav1.ReasonPolicyInForce, rules)
	}
}
