// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// batchSize is the number of stacks at a time.
const batchSize = 80

func TestBadInputs(t *testing.T) {
	cases := slices.DeleteFunc(slices.Concat(corpus(t), badArchives(), mutants(*mutantCount, *seed)), func(b *badInput) bool {
		return !strings.HasPrefix(b.Name, *only)
	})
	// Slow cases begin first, so that the others run beside them.
	slices.SortStableFunc(cases, func(a, b *badInput) int { return order(a) - order(b) })
	w := newWorld(t)
	w.serve(t, cases)
	began := time.Now()
	for batch := range slices.Chunk(cases, batchSize) {
		w.try(t, batch)
	}
	t.Logf("%d stacks in %s", len(cases), time.Since(began).Round(time.Second))
	// After all of that, a good stack is still applied.
	w.try(t, []*badInput{{Name: "good", Ends: endsApplied, HCL: "resource \"terraform_data\" \"a\" {}\n"}})
	if text := w.log.Text(); strings.Contains(text, "panic") {
		t.Errorf("the server panicked:\n%s", w.log.Tail())
	}
}

func order(b *badInput) int {
	if b.Slow {
		return 0
	}
	return 1
}

// attempt is a case in progress.
type attempt struct {
	*badInput
	// refused is the API's error if it rejected the object.
	refused error
	// last is the last version of the object, gone is true if it was deleted.
	last infrav1.Terraform
	gone bool
}

// try creates the stacks of some cases, waits until all have ended, and checks the requirements.
func (w *world) try(t *testing.T, cases []*badInput) {
	t.Helper()
	namespace := w.namespace(t)
	var attempts []*attempt
	for _, b := range cases {
		attempts = append(attempts, w.make(t, namespace, b))
	}
	ended := eventually(t.Context(), patience, func() error { return w.look(t.Context(), namespace, attempts) })
	quiet := eventually(t.Context(), 20*time.Second, func() error { return w.quiet(t.Context(), namespace) })
	locks := w.locks(t, namespace)
	w.delete(t, attempts)
	deleted := eventually(t.Context(), patience, func() error { return w.allGone(t.Context(), namespace, attempts) })
	for _, a := range attempts {
		t.Run(a.Name, func(t *testing.T) {
			a.check(t)
			if lock := locks[a.name()]; (lock != "") != a.Locked {
				t.Errorf("the lock is held by %q", lock)
			}
			if a.refused == nil && !a.gone {
				t.Error("it cannot be deleted")
			}
		})
	}
	for what, err := range map[string]error{"all end": ended, "no run is active": quiet, "all can be deleted": deleted} {
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, w.log.Tail())
		}
	}
}

func (w *world) make(t *testing.T, namespace string, b *badInput) *attempt {
	t.Helper()
	a := &attempt{badInput: b}
	for _, obj := range b.before(t, namespace) {
		if err := w.client.Create(t.Context(), obj); err != nil {
			t.Fatalf("%s: create %s: %v", b.Name, obj.GetName(), err)
		}
	}
	if b.archive != nil {
		if a.refused = w.publish(t.Context(), namespace, b); a.refused != nil {
			return a
		}
	}
	a.refused = w.client.Create(t.Context(), b.stack(t, namespace))
	return a
}

// look reads all stacks, and returns those that have not ended.
func (w *world) look(ctx context.Context, namespace string, attempts []*attempt) error {
	list, err := w.list(ctx, namespace)
	if err != nil {
		return err
	}
	var going []string
	for _, a := range attempts {
		if a.refused != nil {
			continue
		}
		if is, ok := list[a.name()]; ok {
			a.last = is
		}
		if why := unsettled(&a.last); why != "" {
			going = append(going, a.Name+": "+why)
		}
	}
	if len(going) > 0 {
		return errors.New(strings.Join(going, "\n"))
	}
	return nil
}

func (w *world) list(ctx context.Context, namespace string) (map[string]infrav1.Terraform, error) {
	var list infrav1.TerraformList
	if err := w.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	byName := map[string]infrav1.Terraform{}
	for _, o := range list.Items {
		byName[o.Name] = o
	}
	return byName, nil
}

// unsettled says why a stack has not ended; empty if it has.
func unsettled(o *infrav1.Terraform) string {
	ready := apimeta.FindStatusCondition(o.Status.Conditions, infrav1.ConditionReady)
	switch {
	case ready == nil:
		return "it has no condition"
	case o.Status.ObservedGeneration != o.Generation || ready.ObservedGeneration != o.Generation:
		return "its status is about another generation"
	case o.Status.CurrentRun != nil:
		return "a run is in hand: " + ready.Message
	case ready.Reason == infrav1.ReasonProgressing:
		return "it is under way: " + ready.Message
	}
	return ""
}

// check checks the requirements that concern the object of a case.
func (a *attempt) check(t *testing.T) {
	t.Helper()
	if a.refused != nil {
		if a.ends() == endsApplied || !apierrors.IsInvalid(a.refused) && !apierrors.IsBadRequest(a.refused) && !apierrors.IsRequestEntityTooLargeError(a.refused) {
			t.Errorf("it is refused: %v", a.refused)
		}
		a.namesTheCause(t, a.refused.Error())
		return
	}
	if why := unsettled(&a.last); why != "" {
		t.Errorf("it does not end: %s", why)
		return
	}
	ready := apimeta.FindStatusCondition(a.last.Status.Conditions, infrav1.ConditionReady)
	is := fmt.Sprintf("Ready is %s %s: %s", ready.Status, ready.Reason, ready.Message)
	switch {
	case ready.Message == "":
		t.Errorf("it says nothing: %s", is)
	case a.ends() == endsApplied && ready.Status != metav1.ConditionTrue,
		a.ends() == endsFailed && ready.Status != metav1.ConditionFalse,
		a.ends() == endsWaiting && ready.Status == metav1.ConditionTrue:
		t.Errorf("%s; want that it %s", is, a.ends())
	case ready.Status != metav1.ConditionTrue:
		a.namesTheCause(t, is)
	}
}

func (a *attempt) namesTheCause(t *testing.T, text string) {
	t.Helper()
	for _, word := range a.Says {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			t.Errorf("it does not say %q:\n%s", word, text)
		}
	}
}

// locks are the lock ids of states, by stack.
func (w *world) locks(t *testing.T, namespace string) map[string]string {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := w.client.List(t.Context(), &leases, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, l := range leases.Items {
		stack, ok := strings.CutPrefix(l.Name, "lock-tfstate-default-")
		if ok && l.Spec.HolderIdentity != nil {
			held[stack] = *l.Spec.HolderIdentity
		}
	}
	return held
}

func (w *world) delete(t *testing.T, attempts []*attempt) {
	t.Helper()
	for _, a := range attempts {
		if a.refused != nil || a.last.Name == "" {
			continue
		}
		if err := w.client.Delete(t.Context(), &a.last); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete %s: %v", a.Name, err)
		}
	}
}

func (w *world) allGone(ctx context.Context, namespace string, attempts []*attempt) error {
	list, err := w.list(ctx, namespace)
	if err != nil {
		return err
	}
	var there []string
	for _, a := range attempts {
		is, ok := list[a.name()]
		if a.gone = !ok; ok {
			there = append(there, a.Name+": "+message(&is))
		}
	}
	if len(there) > 0 {
		return errors.New(strings.Join(there, "\n"))
	}
	return nil
}

func message(o *infrav1.Terraform) string {
	if ready := apimeta.FindStatusCondition(o.Status.Conditions, infrav1.ConditionReady); ready != nil {
		return ready.Message
	}
	return "it has no condition"
}
