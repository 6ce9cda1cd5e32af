// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/decide"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
)

// outcome is what the status says, and when the bridge comes again.
type outcome struct {
	reason, message string
	after           time.Duration
	// replaced is the digest of somebody else's document that was overwritten; restored is set if a
	// document that somebody removed was written again.
	replaced string
	restored bool
}

// problem says why a spec cannot be used.
type problem struct{ message string }

func (p *problem) Error() string { return p.message }

func asProblem(err error, p **problem) bool { return errors.As(err, p) }

func invalid(format string, args ...any) error { return &problem{fmt.Sprintf(format, args...)} }

// reasons are the conditions' reasons of decisions.
var reasons = map[decide.Verb]string{
	decide.Wait: yubav1.ReasonBridgeWaiting, decide.Record: yubav1.ReasonBridgeSynced, decide.Create: yubav1.ReasonBridgeSynced,
	decide.Overwrite: yubav1.ReasonBridgeSynced, decide.Publish: yubav1.ReasonBridgeSynced, decide.Conflict: yubav1.ReasonBridgeConflict,
	decide.Misfit: yubav1.ReasonBridgeMisfit, decide.Gone: yubav1.ReasonBridgeGone,
}

// carry makes document and revision equal if it may, and sets the status of the bridge.
func (r *Reconciler) carry(ctx context.Context, b *yubav1.ContractBridge) (outcome, error) {
	if b.Spec.Suspend {
		return outcome{reason: yubav1.ReasonBridgeSuspended, message: "spec.suspend is set"}, nil
	}
	interval := max(b.Spec.Interval.Duration, 10*time.Second)
	o, err := r.carryOver(ctx, b)
	o.after = interval
	var (
		wrong   *problem
		refused *store.RefusedError
		away    *unreachable
	)
	switch {
	case errors.As(err, &wrong):
		return outcome{reason: yubav1.ReasonBridgeInvalid, message: wrong.message, after: interval}, nil
	case errors.Is(err, store.ErrMoved):
		return outcome{reason: yubav1.ReasonBridgeUnreachable, message: err.Error(), after: soon}, nil
	case errors.As(err, &refused):
		return outcome{reason: yubav1.ReasonBridgeMisfit, message: err.Error(), after: interval}, nil
	case errors.As(err, &away):
		return outcome{reason: yubav1.ReasonBridgeUnreachable, message: err.Error(), after: min(interval, retry)}, nil
	}
	return o, err
}

// unreachable is an error of a store, which is no fault of the server.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

func (r *Reconciler) carryOver(ctx context.Context, b *yubav1.ContractBridge) (outcome, error) {
	place, err := r.open(ctx, b)
	if err != nil {
		return outcome{}, err
	}
	b.Status.Document = place.Name()
	if b.Spec.Direction == yubav1.BridgeIn {
		return r.in(ctx, b, place)
	}
	return r.out(ctx, b, place)
}

func want(b *yubav1.ContractBridge) contracts.Want {
	return contracts.Want{Namespace: b.Namespace, Labels: b.Labels, Producer: producerOf(b), Contract: b.Spec.Contract, Version: b.Spec.Version, Reads: b.Spec.Reads}
}

// out writes the revision to the document.
func (r *Reconciler) out(ctx context.Context, b *yubav1.ContractBridge, place store.Store) (outcome, error) {
	// 1. Gather.
	reading, err := r.read(ctx, b)
	switch {
	case err != nil:
		return outcome{}, err
	case reading.Problem != "":
		return outcome{}, invalid("%s", reading.Problem)
	case reading.Private && b.Spec.Store.ConfigMap != nil:
		return outcome{}, invalid("%s private parts, which a ConfigMap does not protect. Use a Secret, or leave them out with spec.%s", hasPrivate(b), selects(b))
	}
	d, err := place.Read(ctx)
	if err != nil {
		return outcome{}, &unreachable{err}
	}
	facts := decide.Facts{Base: b.Status.Synced, Replace: b.Spec.Replace, Document: place.Name(), Contract: subject(b, "")}
	var content []byte
	if reading.Missing == "" {
		if content, err = document.Canonical(reading.Value); err != nil {
			return outcome{}, err
		}
		if facts.Ours, err = reading.History.Digest(reading.Value, reading.Private); err != nil {
			return outcome{}, err
		}
		facts.Theirs, facts.Unreadable = digestOf(d, reading.History, reading.Private)
	}
	// 2. Decide.
	decision := decide.Decide(facts)
	// 3. Act.
	switch decision.Verb {
	case decide.Create, decide.Overwrite:
		if err := place.Write(ctx, content, d.Tag); err != nil {
			return outcome{}, &unreachable{err}
		}
	case decide.Wait:
		return outcome{reason: yubav1.ReasonBridgeWaiting, message: reading.Missing}, nil
	}
	// 4. Record.
	o := outcome{reason: reasons[decision.Verb], message: decision.Message, restored: decision.Verb == decide.Create && facts.Base != ""}
	if decision.Verb == decide.Overwrite && facts.Theirs != facts.Base {
		o.replaced = facts.Theirs
	}
	if o.reason == yubav1.ReasonBridgeSynced {
		o.message = fmt.Sprintf("%s has revision %d of %s", place.Name(), reading.Number, subject(b, reading.Version))
		r.record(b, facts.Ours, reading.Version, reading.Number, reading.Digest)
	}
	return o, nil
}

// in publishes the document.
func (r *Reconciler) in(ctx context.Context, b *yubav1.ContractBridge, place store.Store) (outcome, error) {
	// 1. Gather.
	if err := r.alone(ctx, b); err != nil {
		return outcome{}, err
	}
	d, err := place.Read(ctx)
	if err != nil {
		return outcome{}, &unreachable{err}
	}
	name := types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Contract}
	fit, err := r.Book.Fits(ctx, string(b.UID), name, b.Spec.Version, d.Content)
	if err != nil {
		return outcome{}, err
	}
	if fit.Problem != "" {
		return outcome{}, invalid("%s", fit.Problem)
	}
	facts := decide.Facts{In: true, Ours: fit.Last.Digest, Base: b.Status.Synced, Document: place.Name(),
		Contract: fmt.Sprintf("contract %s %s", b.Spec.Contract, b.Spec.Version), Unreadable: fit.Misfit}
	switch {
	case d.Content == nil:
	case fit.Misfit != "":
		facts.Theirs = plain(d)
	case fit.History.Key == "":
		facts.Theirs = plain(d) // the first one: there is no key, and nothing to compare with
	default:
		if facts.Theirs, err = fit.History.Digest(fit.Value, fit.Private); err != nil {
			return outcome{}, err
		}
	}
	// 2. Decide.
	decision := decide.Decide(facts)
	// 3. Act.
	last := fit.Last
	if decision.Verb == decide.Publish {
		if last, err = r.Book.PublishDocument(ctx, string(b.UID), b.Spec.Contract, b.Spec.Version, fit, place.Name(), r.Now()); err != nil {
			return outcome{}, err
		}
	}
	// 4. Record.
	o := outcome{reason: reasons[decision.Verb], message: decision.Message}
	if o.reason == yubav1.ReasonBridgeSynced {
		o.message = fmt.Sprintf("%s is revision %d of contract %s %s", place.Name(), last.Number, b.Spec.Contract, b.Spec.Version)
		r.record(b, last.Digest, last.Version, last.Number, last.Digest)
	}
	return o, nil
}

// alone refuses a bridge in that has the name of a stack: consumers would read the stack.
func (r *Reconciler) alone(ctx context.Context, b *yubav1.ContractBridge) error {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(b), &infrav1.Terraform{}, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return invalid("there is a stack of the same name, which consumers read instead. Rename the bridge, or delete it if the stack has moved here")
}

// record notes what is equal now.
func (r *Reconciler) record(b *yubav1.ContractBridge, synced, version string, number int64, digest string) {
	s := &b.Status
	if s.Synced != synced || s.Revision != number || s.SyncedAt == nil {
		at := metav1.NewTime(r.Now())
		s.SyncedAt = &at
	}
	s.Synced, s.Version, s.Revision, s.Digest = synced, version, number, digest
}

// digestOf returns the digest of a document, and why it is not a value.
func digestOf(d store.Document, h revisions.History, private bool) (digest, unreadable string) {
	if d.Content == nil {
		return "", ""
	}
	value, err := document.Parse(d.Content)
	if err == nil {
		digest, err = h.Digest(value, private)
	}
	if err != nil {
		return plain(d), "it is not a JSON document"
	}
	return digest, ""
}

// plain is the digest of the bytes of a document that is not a value.
func plain(d store.Document) string { return document.DigestOf(d.Content) }
