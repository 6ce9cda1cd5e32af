// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
)

// Bounds for a status.
const (
	maxStacks     = 20
	maxNamespaces = 1000
)

// view is a circuit at one moment.
type view struct {
	name    string
	mode    circuits.Mode
	open    bool
	what    string
	status  yubav1.CircuitBreakerStatus
	members []circuits.Stack
}

func viewOf(c *circuits.Circuit) view {
	v := view{name: c.Name, mode: c.Mode, open: c.IsOpen(), what: c.What(), members: c.Members(c.Failing())}
	v.status = yubav1.CircuitBreakerStatus{State: yubav1.CircuitBreakerState(c.State), OpenedAt: stamp(c.OpenedAt), ClosedAt: stamp(c.ClosedAt),
		NextProbeAt: stamp(c.ProbeAt), Provider: c.Kind.Provider, Host: c.Kind.Host, Cause: c.Kind.Cause, Summary: c.Kind.Summary,
		Namespaces: slices.Clone(c.Namespaces), Sample: c.Sample, Affected: int32(min(c.Affected, 1<<30)), Openings: int32(min(c.Openings, 1<<30))} //nolint:gosec // bounded
	if c.Kind != (circuits.Kind{}) {
		v.status.Fingerprint = c.Kind.Key()
	}
	if c.OpenedAt.IsZero() || c.ClosedAt.Before(c.OpenedAt) {
		v.status.ClosedAt = nil
	}
	if v.open {
		for _, s := range v.members[:min(maxStacks, len(v.members))] {
			v.status.Stacks = append(v.status.Stacks, s.String())
		}
	}
	return v
}

// stamp is a time as the API keeps it, so that it equals what is read back.
func stamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second).Local()}
}

// circuitOf returns the circuit that an object describes.
func circuitOf(obj *yubav1.CircuitBreaker) circuits.Circuit {
	s := &obj.Status
	return circuits.Circuit{Name: obj.Name, Mode: circuits.Automatic, Namespaces: s.Namespaces, State: circuits.State(s.State), OpenedAt: times.Of(s.OpenedAt),
		ClosedAt: times.Of(s.ClosedAt), Affected: int(s.Affected), Openings: int(s.Openings), Sample: s.Sample,
		Kind: circuits.Kind{Provider: s.Provider, Host: s.Host, Cause: s.Cause, Summary: s.Summary}}
}

func toldOf(obj *yubav1.CircuitBreaker) *telling {
	t := &telling{open: obj.Status.State != yubav1.StateClosed, namespaces: map[string]bool{}}
	for _, n := range obj.Status.AffectedNamespaces {
		t.namespaces[n] = true
	}
	return t
}

// keep updates the object of a circuit, sends events about changes, and wakes the stacks concerned.
func (k *Keeper) keep(ctx context.Context, v view) error {
	obj := k.objects[v.name]
	if obj == nil && !v.open {
		// A person deleted the object, which ends the outage: resume paused stacks.
		before := k.told[v.name]
		if before == nil || !before.open {
			return nil
		}
		k.told[v.name] = k.telling(v)
		return k.wakeConcerned(ctx, v)
	}
	if obj == nil {
		var err error
		if obj, err = k.create(ctx, v.name); err != nil {
			return err
		}
		k.objects[v.name] = obj
	}
	before, now := k.told[v.name], k.telling(v)
	narrower := v.open && len(v.status.Namespaces) > 0 && !slices.Equal(v.status.Namespaces, obj.Status.Namespaces)
	v.status.AffectedNamespaces = slices.Sorted(maps.Keys(now.namespaces))
	v.status.AffectedNamespaces = v.status.AffectedNamespaces[:min(maxNamespaces, len(v.status.AffectedNamespaces))]
	if err := k.write(ctx, obj, v); err != nil {
		return err
	}
	k.told[v.name] = now
	k.tell(obj, v, before, now)
	switch {
	case before == nil && v.open || before != nil && before.open != v.open:
		return k.wakeConcerned(ctx, v)
	case before != nil && narrower:
		return k.wakePaused(ctx)
	}
	return nil
}

// wakeConcerned wakes the members when it opens, and all waiting stacks when it closes.
func (k *Keeper) wakeConcerned(ctx context.Context, v view) error {
	for _, s := range v.members {
		k.Wake(s)
	}
	if v.open {
		return nil
	}
	return k.wakePaused(ctx)
}

func (k *Keeper) create(ctx context.Context, name string) (*yubav1.CircuitBreaker, error) {
	obj := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: yubav1.CircuitBreakerSpec{Mode: yubav1.ModeAutomatic}}
	err := k.Client.Create(ctx, obj)
	if apierrors.IsAlreadyExists(err) {
		err = k.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	}
	if err != nil {
		return nil, fmt.Errorf("create the circuit breaker %s: %w", name, err)
	}
	return obj, nil
}

// write updates the status if it differs.
func (k *Keeper) write(ctx context.Context, obj *yubav1.CircuitBreaker, v view) error {
	status := v.status
	status.ObservedGeneration, status.Conditions = obj.Generation, slices.Clone(obj.Status.Conditions)
	reason, message := describe(v)
	is := metav1.ConditionFalse
	if !v.open {
		is = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: "Ready", Status: is, Reason: reason, Message: message, ObservedGeneration: obj.Generation})
	if equality.Semantic.DeepEqual(obj.Status, status) {
		return nil
	}
	before := obj.DeepCopy()
	patched := obj.DeepCopy()
	patched.Status = status
	if err := k.Client.Status().Patch(ctx, patched, client.MergeFrom(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil // a person is deleting it; the watch reports that
		}
		return fmt.Errorf("write the status of circuit breaker %s: %w", obj.Name, err)
	}
	*obj = *patched
	// Keep the written status, whatever the API's clock or rounding returns.
	obj.Status = status
	return nil
}

// describe describes a circuit breaker without naming stacks.
func describe(v view) (reason, message string) {
	affected := count(int(v.status.Affected))
	switch {
	case v.open && v.mode == circuits.HeldOpen:
		return yubav1.ReasonMaintenance, fmt.Sprintf("Held open: %s. Nothing that it concerns is applied automatically", v.what)
	case v.status.State == yubav1.StateHalfOpen:
		return yubav1.ReasonProbing, fmt.Sprintf("%s: one probe succeeded, and another must succeed before it closes; %s failed alike", sentence(v.what), affected)
	case v.open:
		return yubav1.ReasonOpened, fmt.Sprintf("%s: %s failed alike. They are paused except for probes, and nothing that it concerns is applied automatically", sentence(v.what), affected)
	case v.mode == circuits.HeldClosed:
		return yubav1.ReasonClosed, "Held closed"
	}
	return yubav1.ReasonClosed, fmt.Sprintf("The outage is over: %s. Paused stacks are retried, and drift found now waits for approval", v.what)
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func count(n int) string {
	if n == 1 {
		return "1 stack"
	}
	return fmt.Sprintf("%d stacks", n)
}

// telling is the current content of events about a circuit.
func (k *Keeper) telling(v view) *telling {
	now := &telling{open: v.open, namespaces: map[string]bool{}}
	if before := k.told[v.name]; before != nil && (before.open || !v.open) {
		maps.Copy(now.namespaces, before.namespaces)
	}
	if v.open {
		for _, s := range v.members {
			now.namespaces[s.Namespace] = true
		}
		for _, n := range v.status.Namespaces {
			now.namespaces[n] = true
		}
	}
	return now
}

// tell sends the events about changes.
func (k *Keeper) tell(obj *yubav1.CircuitBreaker, v view, before, now *telling) {
	_, message := describe(v)
	switch {
	case v.open && (before == nil || !before.open):
		k.Log.Warn("a circuit breaker opened", "circuitbreaker", v.name, "what", v.what, "stacks", v.status.Affected)
		k.event(obj, now.namespaces, corev1.EventTypeWarning, yubav1.ReasonOpened, "Open", message)
	case v.open:
		more := map[string]bool{}
		for n := range now.namespaces {
			if !before.namespaces[n] {
				more[n] = true
			}
		}
		if len(more) > 0 {
			k.event(obj, more, corev1.EventTypeWarning, yubav1.ReasonOpened, "Widen", message)
		}
	case before != nil && before.open:
		k.Log.Info("a circuit breaker closed", "circuitbreaker", v.name, "what", v.what, "stacks", v.status.Affected)
		k.event(obj, now.namespaces, corev1.EventTypeNormal, yubav1.ReasonClosed, "Close", message)
	}
}

// event sends an event for alerts of these namespaces.
func (k *Keeper) event(obj *yubav1.CircuitBreaker, namespaces map[string]bool, severity, reason, action, message string) {
	about := obj.DeepCopy()
	metav1.SetMetaDataAnnotation(&about.ObjectMeta, yubav1.AnnotationConcerns, strings.Join(slices.Sorted(maps.Keys(namespaces)), ","))
	k.Events.Eventf(about, nil, severity, reason, action, "%s", message)
}
