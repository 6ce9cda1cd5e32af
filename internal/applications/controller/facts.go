// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// findStack finds the stack of the instance in the cache.
func (p *pass) findStack(ctx context.Context) error {
	stack := &infrav1.Terraform{}
	at := client.ObjectKey{Namespace: p.key.Namespace, Name: p.kind.prefix + p.key.Name}
	err := p.Client.Get(ctx, at, stack, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the stack %s: %w", at, err)
	}
	p.facts.Moved = cmp.Or(p.facts.Moved, moving.Held(stack))
	if !(ownership{p.meta.UID}).mine(stack) {
		p.rival(stack, infrav1.GroupVersion.WithKind(infrav1.Kind))
		return nil
	}
	p.stack = stack
	p.live = metadataOf(stack, infrav1.GroupVersion.WithKind(infrav1.Kind))
	p.choose()
	p.facts.Object = stackFacts(stack, p.asLeft(stack))
	p.facts.Object.Observed = p.facts.Object.Observed && !p.behind(stack)
	return nil
}

// rival notes that an object with the name is not the instance's, unless it may take it.
func (p *pass) rival(live client.Object, kind schema.GroupVersionKind) {
	if p.manifest == nil {
		return
	}
	if r := (ownership{p.meta.UID}).Rival(live, p.manifest, false); r.Name != "" {
		p.facts.Holder = fmt.Sprintf("%s %s belongs to %s. Choose another name for the instance", kind.Kind, live.GetName(), r.Name)
	}
}

// metadataOf is the metadata of a cached object. It shares everything with it.
func metadataOf(o client.Object, kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Generation: o.GetGeneration(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(), DeletionTimestamp: o.GetDeletionTimestamp()}}
	m.SetGroupVersionKind(kind)
	return m
}

// behind reports whether the watch has not seen the last write of the object yet.
func (p *pass) behind(live metav1.Object) bool {
	left, now := p.memory.get(p.key).left, owned.PrintOf(live)
	return left.UID == now.UID && owned.Older(now.Version, left.Version)
}

// asLeft reports whether the object is as it should be, as far as its metadata tell: it was made from
// the wanted manifest, and nobody has changed it since. After a restart, its annotation is the proof.
func (p *pass) asLeft(live metav1.Object) bool {
	if p.manifest == nil {
		return true
	}
	m := p.memory.get(p.key)
	now := owned.PrintOf(live)
	if m.digest == p.digest && p.behind(live) {
		return true // the cache has not seen the last write yet
	}
	if live.GetAnnotations()[appv1.AnnotationMade] != p.digest {
		return false
	}
	if m.digest != p.digest || m.left.UID != now.UID {
		p.memory.change(p.key, func(m *memo) { m.digest, m.left = p.digest, now })
		return true
	}
	if m.left.Generation == now.Generation {
		return true
	}
	// An approval changes the spec, too, and is not the instance's matter. Writing the same again
	// changes nothing then.
	return false
}

// stackFacts are what a stack says.
func stackFacts(t *infrav1.Terraform, current bool) *decide.Object {
	is := conditions.Of(t, infrav1.ConditionReady)
	o := &decide.Object{Current: current, Deleting: !t.DeletionTimestamp.IsZero(), Destroys: t.Spec.DestroyResourcesOnDeletion,
		Observed: t.Status.ObservedGeneration == t.Generation, Ready: string(is.Status), Message: is.Message,
		Working: conditions.Of(t, infrav1.ConditionReconciling).Status == metav1.ConditionTrue, Applied: applied(t)}
	if c := conditions.Of(t, infrav1.ConditionStalled); c.Status == metav1.ConditionTrue {
		o.Stuck = c.Message
	}
	if t.AwaitsApproval() {
		o.Awaits, o.Changes = t.Status.Plan.Pending, words(changesOf(t))
	}
	if t.RefusedByPolicy() && t.Status.Plan.Pending != "" {
		o.Stuck = "Policies refuse the plan " + t.Status.Plan.Pending + ": " + t.Status.Plan.Policy.Message
	}
	return o
}

// applied reports whether the resources of a stack exist, and its outputs are known.
func applied(t *infrav1.Terraform) bool {
	plan := conditions.Of(t, infrav1.ConditionPlan)
	exist := t.Status.LastAppliedRevision != "" || t.Status.Plan.LastApplied != "" || plan.Status == metav1.ConditionFalse && plan.Reason == infrav1.ReasonPlannedNoChanges
	return exist && (t.Spec.WriteOutputsToSecret == nil || t.Status.OutputsSecret != "")
}

// releaseSight is what memory has of a HelmRelease besides its metadata.
type releaseSight struct {
	observed, suspended bool
	ready               metav1.Condition
	stalled, version    string
}

// seeRelease makes the sight of a HelmRelease.
func seeRelease(u *unstructured.Unstructured) any {
	s := &releaseSight{}
	generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration") //nolint:errcheck // what is not a number is none
	s.observed = generation == u.GetGeneration()
	s.suspended, _, _ = unstructured.NestedBool(u.Object, "spec", "suspend")                 //nolint:errcheck // what is not a truth is false
	s.version, _, _ = unstructured.NestedString(u.Object, "status", "lastAttemptedRevision") //nolint:errcheck // what is not a text is none
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")                  //nolint:errcheck // what is not a list is none
	for _, c := range all {
		m, _ := c.(map[string]any)
		text := func(name string) string { s, _ := m[name].(string); return s }
		switch text("type") {
		case "Ready":
			s.ready = metav1.Condition{Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
		case "Stalled":
			if text("status") == string(metav1.ConditionTrue) {
				s.stalled = text("message")
			}
		}
	}
	return s
}

// findRelease finds the release of the instance.
func (p *pass) findRelease(ctx context.Context) error {
	kind := render.HelmReleaseKind
	err := p.releases.Follow(ctx, owner(p.kind.definition), map[schema.GroupKind]string{kind.GroupKind(): kind.Version})
	var unwatched *owned.UnwatchedError
	if errors.As(err, &unwatched) {
		for _, why := range unwatched.Kinds {
			if !apimeta.IsNoMatchError(why) && !apierrors.IsNotFound(why) {
				return fmt.Errorf("follow the releases: %w", err)
			}
		}
		p.facts.Missing, p.again = p.missing(), missingAgain
		return nil
	}
	if err != nil {
		return fmt.Errorf("follow the releases: %w", err)
	}
	m, look := p.releases.Look(owned.ID{GroupKind: kind.GroupKind(), Namespace: p.key.Namespace, Name: p.kind.prefix + p.key.Name})
	s, ok := look.(*releaseSight)
	if m == nil || !ok {
		return nil
	}
	p.facts.Moved = cmp.Or(p.facts.Moved, moving.Held(m))
	if !(ownership{p.meta.UID}).mine(m) {
		p.rival(m, kind)
		return nil
	}
	p.live, p.release = m, s
	p.choose()
	p.facts.Object = &decide.Object{Current: p.asLeft(m), Deleting: m.DeletionTimestamp != nil, Destroys: !s.suspended, Observed: s.observed && !p.behind(m), Ready: string(s.ready.Status),
		Message: s.ready.Message, Stuck: s.stalled, Applied: true}
	return nil
}

// missing says that nothing reconciles the objects of the backend.
func (p *pass) missing() string {
	if p.kind.backend == appv1.BackendHelm {
		return "This API does not serve HelmReleases. Install Flux's helm-controller, or use a server that has them"
	}
	return "This API does not serve the kind Terraform. Install it: yuba crds install"
}
