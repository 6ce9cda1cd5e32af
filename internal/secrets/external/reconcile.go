// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/secrets/external/decide"
	"github.com/yuba-dev/yuba/internal/secrets/external/turns"
)

// maxMessage bounds the messages of conditions.
const maxMessage = 2000

// butStays is between what a refresh did and why the earlier target stays, in the message of a condition.
const butStays = ", but "

// problemError is a mistake in objects of the API. Most of them are watched, so it is rarely tried again.
type problemError struct{ message string }

func (e *problemError) Error() string { return e.message }

func problem(format string, args ...any) error { return &problemError{fmt.Sprintf(format, args...)} }

func isProblem(err error) bool {
	var p *problemError
	return errors.As(err, &p)
}

// otherError means that another program works on the store.
type otherError struct{ controller string }

func (e *otherError) Error() string { return "the store belongs to the controller " + e.controller }

// reconcile refreshes the target of an ExternalSecret, when it is its stores' turn.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request, ask turns.Ask) (ctrl.Result, error) {
	var es externalv1.ExternalSecret
	if err := r.Client.Get(ctx, req.NamespacedName, &es); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left, err := r.leaves(ctx); left || err != nil {
		return ctrl.Result{RequeueAfter: decide.Recheck}, err
	}
	if !es.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector deletes what it owns
	}
	target, err := r.target(ctx, &es)
	if err != nil {
		return ctrl.Result{}, err
	}
	f := r.facts(&es, target)
	again, err := r.leaveAgain(ctx, &es, f)
	if err != nil {
		return reconciling.Again(err)
	}
	if due := decide.Due(f); !due.Read {
		if again && (due.Next == 0 || due.Next > decide.Retry) {
			due.Next = decide.Retry
		}
		return ctrl.Result{RequeueAfter: due.Next}, nil
	}
	if !ask(storeKeys(&es)...) {
		return ctrl.Result{}, nil
	}
	before := es.DeepCopy()
	act, err := r.refreshInTime(ctx, &es, target)
	var other *otherError
	if errors.As(err, &other) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		act = decide.Act{Verb: decide.Fail, Reason: externalv1.ReasonSecretSyncedError, Message: err.Error()}
	}
	r.record(&es, act, f)
	if err := reconciling.PatchStatus(ctx, r.Client, before, &es); err != nil {
		return reconciling.Again(err)
	}
	r.tell(before, &es, act, target != nil)
	return ctrl.Result{RequeueAfter: decide.After(f, outcome(act, err))}, nil
}

// leaveAgain tries again to give up the target of an earlier spec, which stays only because that failed. It asks no
// store, so it does not matter whether the secrets are ever read again. It reports whether to come again for it.
func (r *Reconciler) leaveAgain(ctx context.Context, es *externalv1.ExternalSecret, f decide.Facts) (again bool, err error) {
	c := externalv1.Find(es.Status.Conditions, externalv1.ConditionReady)
	if name := es.Status.Binding.Name; name == "" || name == targetOf(es) || !moved(es, decide.Act{Reason: c.Reason}) {
		return false, nil
	}
	// The object may be read from a cache that does not have its last status yet, of which nobody tells.
	if !decide.Leaves(f) {
		return true, nil
	}
	if r.leave(ctx, es) != nil { // the condition says so, and a refresh tells it anew
		return true, nil
	}
	before := es.DeepCopy()
	es.Status.Binding.Name = targetOf(es)
	c.Message, _, _ = strings.Cut(c.Message, butStays)
	es.Status.Conditions = externalv1.With(es.Status.Conditions, c)
	return false, reconciling.PatchStatus(ctx, r.Client, before, es)
}

// outcome says how a refresh ended.
func outcome(act decide.Act, err error) decide.Outcome {
	switch {
	case errors.Is(err, errLate):
		return decide.Late
	case isProblem(err):
		return decide.Mistaken
	case act.Verb == decide.Fail, act.Stays != "":
		return decide.Failed
	}
	return decide.Done
}

// facts are what a refresh depends on.
func (r *Reconciler) facts(es *externalv1.ExternalSecret, target *corev1.Secret) decide.Facts {
	f := decide.Facts{Now: r.Now(), Policy: es.Spec.RefreshPolicy, Interval: time.Hour, Refreshed: es.Status.RefreshTime.Time, Synced: es.Status.SyncedResourceVersion,
		Version: versionOf(es), Ready: externalv1.Find(es.Status.Conditions, externalv1.ConditionReady).Status == corev1.ConditionTrue}
	if i := es.Spec.RefreshInterval; i != nil {
		f.Interval = i.Duration
	}
	f.TargetStands = es.Spec.Target.CreationPolicy == externalv1.CreateNone || target != nil && stands(es, target) ||
		externalv1.Find(es.Status.Conditions, externalv1.ConditionReady).Reason == externalv1.ReasonSecretDeleted
	f.Immutable = target != nil && target.Immutable != nil && *target.Immutable && controls(es, target)
	return f
}

// versionOf identifies what of an object asks for a refresh: its spec, labels and annotations.
func versionOf(es *externalv1.ExternalSecret) string {
	text, err := json.Marshal([]map[string]string{es.Labels, es.Annotations})
	if err != nil { // texts
		panic(err)
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%d-%s", es.Generation, hex.EncodeToString(sum[:8]))
}

// record writes the status.
func (r *Reconciler) record(es *externalv1.ExternalSecret, act decide.Act, f decide.Facts) {
	if act.Stays != "" {
		act.Message += butStays + act.Stays
	}
	c := externalv1.Condition{Type: externalv1.ConditionReady, Status: corev1.ConditionTrue, Reason: act.Reason, Message: shorten.Fit(act.Message, maxMessage), LastTransitionTime: metav1.NewTime(r.Now())}
	if act.Verb == decide.Fail {
		c.Status = corev1.ConditionFalse
	} else {
		es.Status.RefreshTime = metav1.NewTime(f.Now)
		es.Status.SyncedResourceVersion = f.Version
		if act.Stays == "" && moved(es, act) { // the earlier target stays until there is another one
			es.Status.Binding.Name = targetOf(es)
		}
	}
	es.Status.Conditions = externalv1.With(es.Status.Conditions, c)
}

// tell records an event about a transition.
func (r *Reconciler) tell(before, es *externalv1.ExternalSecret, act decide.Act, existed bool) {
	was, is := externalv1.Find(before.Status.Conditions, externalv1.ConditionReady), externalv1.Find(es.Status.Conditions, externalv1.ConditionReady)
	severity, reason, message := corev1.EventTypeNormal, externalv1.ReasonUpdated, "wrote Secret "+targetOf(es)
	switch {
	case act.Verb == decide.Fail && was.Status == is.Status && was.Message == is.Message:
		return
	case act.Verb == decide.Fail:
		severity, reason, message = corev1.EventTypeWarning, externalv1.ReasonUpdateFailed, act.Message
	case act.Stays != "" && was.Message == is.Message:
		return
	case act.Stays != "":
		severity, reason, message = corev1.EventTypeWarning, externalv1.ReasonUpdateFailed, is.Message
	case act.Verb == decide.Delete || act.Verb == decide.Clear:
		reason, message = externalv1.ReasonDeleted, act.Message
	case act.Verb == decide.Leave && act.Reason == externalv1.ReasonSecretDeleted && was.Reason != is.Reason:
		reason, message = externalv1.ReasonMissingProviderSecret, act.Message
	case act.Verb == decide.Leave, act.Same:
		return
	case !existed:
		reason, message = externalv1.ReasonCreated, "created Secret "+targetOf(es)
	}
	reconciling.Event(r.Events, es, severity, reason, "Synchronize", message)
}
