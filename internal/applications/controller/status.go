// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// record writes the status of the instance, and tells news of it.
func (p *pass) record(ctx context.Context, d decide.Decision) error {
	var was appv1.InstanceStatus
	if len(p.sight.status) > 0 {
		if err := json.Unmarshal(p.sight.status, &was); err != nil {
			was = appv1.InstanceStatus{} // somebody wrote it
		}
	}
	now := *was.DeepCopy()
	p.stand(&now, d.Standing)
	if err := p.describe(ctx, &now); err != nil {
		return err
	}
	before, after, err := p.both(&now)
	if err != nil {
		return err
	}
	if err := reconciling.PatchStatus(ctx, p.instanceClient, before, after); err != nil {
		return fmt.Errorf("write the status of %s: %w", p.key, err)
	}
	if after.GetResourceVersion() != p.meta.ResourceVersion {
		p.memory.change(p.key, func(m *memo) { m.version = after.GetResourceVersion() })
	}
	p.tell(after, &was, d.Standing)
	return nil
}

// both are the instance with its status in memory, and with the new one.
func (p *pass) both(status *appv1.InstanceStatus) (before, after *unstructured.Unstructured, err error) {
	before = &unstructured.Unstructured{Object: map[string]any{}}
	before.SetGroupVersionKind(appv1.InstanceVersion.WithKind(p.key.Kind))
	before.SetNamespace(p.key.Namespace)
	before.SetName(p.key.Name)
	before.SetUID(p.meta.UID)
	// A pass may have set the finalizer since.
	before.SetResourceVersion(orElse(p.memory.get(p.key).version, p.meta.ResourceVersion))
	after = before.DeepCopy()
	var old map[string]any
	if len(p.sight.status) > 0 && string(p.sight.status) != "null" {
		if err := utiljson.Unmarshal(p.sight.status, &old); err != nil { // integers stay exact
			return nil, nil, err
		}
		before.Object["status"] = old
	}
	after.Object["status"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	return before, after, err
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// stand sets phase and conditions.
func (p *pass) stand(s *appv1.InstanceStatus, is decide.Standing) {
	s.ObservedGeneration, s.Phase = p.meta.Generation, is.Phase
	message := shorten.Fit(is.Message, maxMessage)
	if p.kind.unused != "" && is.Phase == appv1.PhaseReady {
		message += " " + p.kind.unused
	}
	set := func(name string, status metav1.ConditionStatus) {
		c := metav1.Condition{Type: name, Status: status, Reason: is.Reason, Message: message, ObservedGeneration: p.meta.Generation,
			LastTransitionTime: metav1.NewTime(p.Now().UTC().Truncate(1e9))}
		apimeta.SetStatusCondition(&s.Conditions, c)
	}
	set(appv1.ConditionReady, metav1.ConditionStatus(is.Ready))
	for name, on := range map[string]bool{appv1.ConditionReconciling: is.Working, appv1.ConditionStalled: is.Stalled} {
		if on {
			set(name, metav1.ConditionTrue)
		} else {
			apimeta.RemoveStatusCondition(&s.Conditions, name)
		}
	}
}

// describe sets what the object says.
func (p *pass) describe(ctx context.Context, s *appv1.InstanceStatus) error {
	if p.composed != nil {
		return p.describeComposed(ctx, s)
	}
	if p.live != nil {
		gvk := p.live.GroupVersionKind()
		s.BackendRef = &appv1.BackendReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: p.live.Name}
	}
	s.Namespace = p.tenant.namespace
	s.Definition = p.follows()
	if p.release != nil {
		s.Version = p.release.version
	}
	if p.stack == nil {
		return nil
	}
	t := p.stack
	add, change, destroy := changesOf(t)
	s.Plan = nil
	if t.Status.Plan.Pending != "" || t.Status.Plan.Summary != "" {
		s.Plan = &appv1.InstancePlan{ID: t.Status.Plan.Pending, Summary: words(add, change, destroy), Add: add, Change: change, Destroy: destroy}
	}
	s.Revision = nil
	if planned, applied := t.Status.LastPlannedRevision, t.Status.LastAppliedRevision; planned+applied != "" {
		s.Revision = &appv1.InstanceRevision{Planned: planned, Applied: applied}
	}
	return p.showOutputs(ctx, s)
}

// changesOf are the numbers of the last plan's changes.
func changesOf(t *infrav1.Terraform) (add, change, destroy int32) {
	if _, err := fmt.Sscanf(t.Status.Plan.Summary, "+%d ~%d -%d", &add, &change, &destroy); err != nil {
		return 0, 0, 0
	}
	return add, change, destroy
}

// words are the changes of a plan, for people.
func words(add, change, destroy int32) string {
	var parts []string
	for _, part := range []struct {
		n    int32
		what string
	}{{add, "to add"}, {change, "to change"}, {destroy, "to destroy"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(parts) == 0 {
		return "no changes of resources"
	}
	return strings.Join(parts, ", ")
}

// tell records an event when the phase has changed.
func (p *pass) tell(o *unstructured.Unstructured, was *appv1.InstanceStatus, is decide.Standing) {
	if was.Phase == is.Phase {
		return
	}
	severity := "Normal"
	if is.Phase == appv1.PhaseFailed {
		severity = "Warning"
	}
	reconciling.Event(p.Events, o, severity, is.Reason, "Reconcile", is.Message)
}
