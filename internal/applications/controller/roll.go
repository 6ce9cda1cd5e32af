// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/rollout"
	"github.com/yuba-dev/yuba/internal/applications/serving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	core "github.com/yuba-dev/yuba/internal/objects/rollout"
)

// rollAfter gathers news of instances before the next decision about a rollout: each writes the status
// of the definition.
const rollAfter = 50 * time.Millisecond

// maxFailed is how many failed instances a status names.
const maxFailed = 32

// roll is a pass over the rollout of a kind. Everything it decides on is in memory.
func (a *Applications) roll(ctx context.Context, name string) (ctrl.Result, error) {
	k, ok := a.book.get(name)
	if !ok || k.wave == nil {
		return ctrl.Result{}, nil
	}
	now := a.Now()
	facts, whole := k.wave.facts(a.keys(name), now)
	if !whole {
		return ctrl.Result{}, nil // the passes over the instances request another one
	}
	d := rollout.Decide(facts)
	for _, key := range k.wave.grant(name, d.Update, now) {
		a.instanceQueue.Add(key, 0)
		a.rollQueue.Add(name, rollAfter) // the progress with these
	}
	if err := a.recordRollout(ctx, k, d, facts.MaxUnavailable); err != nil {
		return ctrl.Result{}, err
	}
	if d.Phase == core.PhaseComplete || d.Phase == core.PhaseIdle {
		return reconciling.Again(a.complete(ctx, k))
	}
	if d.NextCheck.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(now), rollAfter)}, nil
}

// keys are the instances of a kind.
func (a *Applications) keys(name string) (keys []Key) {
	a.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, _ any) { keys = append(keys, Key{name, m.Namespace, m.Name}) })
	return keys
}

// member is the name of an instance in a rollout.
func (k Key) member() string { return k.Namespace + "/" + k.Name }

func keyNamed(kind, member string) Key {
	namespace, name, _ := strings.Cut(member, "/")
	return Key{kind, namespace, name}
}

// complete makes the target the base of the next rollout.
func (a *Applications) complete(ctx context.Context, k kind) error {
	crds := a.kinds.ApiextensionsV1().CustomResourceDefinitions()
	name := serving.Name(k.resource)
	live, err := crds.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kind %s: %w", name, err)
	}
	if ledger := revisions.Read(live.Annotations); ledger.Base == k.wave.Base && ledger.Target == k.wave.Target {
		annotations := map[string]string{}
		ledger.Completed(a.Now()).Write(annotations)
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.UID, "resourceVersion": live.ResourceVersion,
			"annotations": map[string]string{appv1.AnnotationRollout: annotations[appv1.AnnotationRollout]}}})
		if err != nil {
			return err
		}
		if _, err := crds.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: appv1.FieldManager}); err != nil {
			return fmt.Errorf("record that all instances of %s have revision %d: %w", name, ledger.Target, err)
		}
	}
	a.defineQueue.Add(reconcile.Request{NamespacedName: owner(k.definition)}, 0)
	return nil
}

// recordRollout writes the progress into the status of the definition, and tells news.
func (a *Applications) recordRollout(ctx context.Context, k kind, d rollout.Decision, limit string) error {
	obj := &appv1.ApplicationDefinition{}
	if err := a.Client.Get(ctx, client.ObjectKey{Name: k.definition}, obj); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := obj.DeepCopy()
	if said := k.wave.said; said != nil {
		before.Status.Rollout = said.DeepCopy() // the cache may be behind
	}
	now := rolloutStatus(k.wave.State, d)
	if equality.Semantic.DeepEqual(before.Status.Rollout, now) {
		k.wave.said = now
		return nil
	}
	obj.Status.Rollout = now
	if err := reconciling.PatchStatus(ctx, a.Client, before, obj); err != nil {
		return fmt.Errorf("write the rollout of definition %s: %w", k.definition, err)
	}
	k.wave.said = now
	if reason, severity, message := rolloutNews(before.Status.Rollout, now, d.Affected, limit); reason != "" {
		reconciling.Event(a.Events, obj, severity, reason, "Rollout", message)
	}
	return nil
}

func rolloutStatus(s revisions.State, d rollout.Decision) *appv1.RolloutStatus {
	phase := appv1.RolloutInProgress
	switch {
	case d.Phase == core.PhaseComplete || d.Phase == core.PhaseIdle:
		phase = appv1.RolloutComplete
	case d.Phase == core.PhaseFailed:
		phase = appv1.RolloutFailed
	case d.Held:
		phase = appv1.RolloutPaused
	}
	r := &appv1.RolloutStatus{Phase: phase, Revision: s.Target, BaseRevision: s.Base, Total: int32(d.Total), Updated: int32(d.Updated), //nolint:gosec // memory has fewer
		Failed: slices.Clone(d.Failed[:min(len(d.Failed), maxFailed)]), Message: shorten.Fit(sentence(d.Message), maxMessage)}
	if !s.Began.IsZero() {
		r.Began = &metav1.Time{Time: s.Began.Local()}
	}
	return r
}

// rolloutNews is the event when a rollout's phase has changed; reason is empty for none. A change that
// alters nothing is not told.
func rolloutNews(was, is *appv1.RolloutStatus, affected int, limit string) (reason, severity, message string) {
	begins := was == nil || was.Revision != is.Revision
	if affected == 0 || !begins && was.Phase == is.Phase {
		return "", "", ""
	}
	message = is.Message
	switch is.Phase {
	case appv1.RolloutComplete:
		return appv1.ReasonRolloutComplete, "Normal", fmt.Sprintf("All instances have revision %d: %s", is.Revision, message)
	case appv1.RolloutFailed:
		return appv1.ReasonRolloutFailed, "Warning", message
	case appv1.RolloutPaused:
		return appv1.ReasonRolloutPaused, "Normal", message
	case appv1.RolloutInProgress:
	}
	if !begins {
		return appv1.ReasonRolloutResumed, "Normal", message
	}
	how := "all at once"
	if limit != "" {
		how = "at most " + limit + " at a time"
	}
	return appv1.ReasonRolloutBegan, "Normal", fmt.Sprintf("Revision %d begins to reach its instances, %s. It changes %d of %d", is.Revision, how, affected, is.Total)
}

// settled is the status of a definition without a rollout.
func settled(s revisions.State, was *appv1.RolloutStatus, instances int32) *appv1.RolloutStatus {
	if s.Target == 0 {
		return nil
	}
	if was != nil && was.Phase == appv1.RolloutComplete && was.Revision == s.Target && was.Total == instances {
		return was
	}
	r := &appv1.RolloutStatus{Phase: appv1.RolloutComplete, Revision: s.Target, Total: instances, Updated: instances, Message: fmt.Sprintf("All instances have revision %d", s.Target)}
	if was != nil && was.Revision == s.Target {
		r.BaseRevision, r.Began = was.BaseRevision, was.Began
	}
	return r
}
