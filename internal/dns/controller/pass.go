// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/decide"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/simulate"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// outcome is the condition Ready after a pass, and when the next one is.
type outcome struct {
	reason, message string
	after           time.Duration
}

// problem is an error that a condition has.
type problem struct {
	reason string
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func problemf(reason, format string, args ...any) error {
	return &problem{reason, fmt.Errorf(format, args...)}
}

// pass keeps a record: gather, decide, write, verify. It fills in the status.
func (r *Reconciler) pass(ctx context.Context, f *yubav1.FailoverRecord) outcome {
	every := max(f.Spec.Interval.Duration, shortest)
	if held := moving.Held(f); held != "" {
		return outcome{yubav1.ReasonRecordMoved, held, 0}
	}
	if f.Spec.Suspend {
		return outcome{yubav1.ReasonRecordSuspended, "spec.suspend is true: the record stays on the server as it is", 0}
	}
	wrote, answer, err := r.keep(ctx, f)
	var wrong *problem
	switch {
	case errors.As(err, &wrong) && wrong.reason == yubav1.ReasonRecordInvalid:
		return outcome{wrong.reason, sentence(wrong), 0} // until the spec or the Secret changes
	case errors.As(err, &wrong):
		return outcome{wrong.reason, sentence(wrong), min(every, retry)}
	case err != nil:
		return outcome{yubav1.ReasonRecordUnreachable, sentence(err), min(every, retry)}
	}
	if wrote && f.Spec.Check != nil {
		return outcome{yubav1.ReasonRecordPublished, fmt.Sprintf("%s is written, and answers %s until the server has checked the endpoints", f.Spec.Host, answer), shortest}
	}
	return outcome{yubav1.ReasonRecordPublished, fmt.Sprintf("%s answers %s", f.Spec.Host, answer), every}
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// keep writes the record if it differs, and asks for its answer.
func (r *Reconciler) keep(ctx context.Context, f *yubav1.FailoverRecord) (wrote bool, answer string, err error) {
	// 1. What is wanted.
	spec, err := record.Of(&f.Spec)
	if err != nil {
		return false, "", &problem{yubav1.ReasonRecordInvalid, err}
	}
	records := record.Render(spec)
	for _, rec := range records {
		if _, err := simulate.Evaluate(rec.Code.String(), simulate.World{}); err != nil {
			return false, "", problemf(yubav1.ReasonRecordInvalid, "the record would not work: %w", err)
		}
	}
	if f.Spec.Publish.DNSEndpoint != nil {
		return r.keepEndpoint(ctx, f, spec, records)
	}
	// 2. The server, and what it has.
	p := &f.Spec.Publish.PowerDNS
	s, err := r.server(ctx, f.Namespace, p.URL, p.SecretRef.Name)
	if err != nil {
		return false, "", err
	}
	s.asks(p.Nameserver)
	if f.Status.ServerVersion, err = s.Version(ctx); err != nil {
		return false, "", err
	}
	f.Status.Warnings = append(record.Warnings(spec), s.warnings(&f.Spec, f.Status.ServerVersion)...)
	if spec.Placement == yubav1.PlacementGeo {
		if err := s.knowsPlaces(ctx); err != nil {
			return false, "", err
		}
	}
	zone, err := s.zone(ctx, f)
	if err != nil {
		return false, "", err
	}
	// 3. Decide and write.
	here := placeOf(f, zone)
	if wrote, err = r.write(ctx, s, f, here, records, spec.TTL); err != nil {
		return false, "", err
	}
	f.Status.Records = nil
	for _, rec := range records {
		f.Status.Records = append(f.Status.Records, rec.Content())
	}
	// 4. Verify.
	answered, err := s.verify(ctx, spec, records)
	if err != nil {
		return wrote, "", err
	}
	r.recordAnswer(f, spec, answered)
	f.Status.Places = r.leave(ctx, f, here)
	if f.Generation == f.Status.ObservedGeneration {
		return wrote, f.Status.Answer, nil
	}
	return wrote, f.Status.Answer, r.dropEndpoint(ctx, f) // it was published otherwise, perhaps
}

// write makes the server's records those that are wanted.
func (r *Reconciler) write(ctx context.Context, s *server, f *yubav1.FailoverRecord, here yubav1.FailoverPlace, records []record.Record, ttl int) (bool, error) {
	lock := r.lock(s.URL)
	defer lock()
	facts, err := s.facts(ctx, f, here)
	if err != nil {
		return false, err
	}
	facts.TTL = ttl
	for _, p := range f.Status.Places {
		facts.Former = append(facts.Former, decide.Owner(p.OwnerID, f.Namespace, f.Name))
	}
	for _, rec := range records {
		facts.Wanted = append(facts.Wanted, rec.Content())
	}
	facts.Kept = kept(f, facts.Wanted) && len(f.Status.Places) > 0 && f.Status.Places[0] == here
	d := decide.Decide(facts)
	if d.Taken != "" {
		return false, problemf(yubav1.ReasonRecordOwned, "%s", d.Taken)
	}
	if err := r.note(ctx, f, here); err != nil {
		return false, err
	}
	f.Status.Zone = here.Zone
	if len(d.Changes) == 0 {
		return false, nil
	}
	if err := r.here(ctx, f); err != nil {
		return false, err
	}
	last := f.Status.LastRepair
	if err := r.noteRepair(ctx, f, d.Repaired); err != nil {
		return false, err
	}
	err = s.change(ctx, here.Zone, d.Changes)
	var refused *powerdns.RefusedError
	switch {
	case errors.As(err, &refused):
		return false, errors.Join(err, r.setRepair(ctx, f, last)) // nothing is written
	case err != nil: // perhaps they are written: if so, the next pass sees nothing to repair
		if !facts.Kept {
			f.Status.Records = nil
		}
		return false, err
	case len(d.Repaired) > 0:
		reconciling.Event(r.Events, f, corev1.EventTypeWarning, yubav1.ReasonRecordRepaired, "Publish",
			"Somebody changed the records, and Yuba wrote them again: "+strings.Join(d.Repaired, "; "))
	}
	return true, nil
}

// here is an error if another home has the object meanwhile, although the cache does not know it yet: two homes must not write
// the records of one name.
func (r *Reconciler) here(ctx context.Context, f *yubav1.FailoverRecord) error {
	var live yubav1.FailoverRecord
	if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(f), &live); err != nil {
		return fmt.Errorf("read FailoverRecord %s/%s before its records are written: %w", f.Namespace, f.Name, err)
	}
	if held := moving.Held(&live); held != "" {
		return problemf(yubav1.ReasonRecordMoved, "%s", held)
	}
	return nil
}

// noteRepair stores what is repaired. The status then differs with each repair, and so does the resource version: the API's
// clients count an event about the same version as a repetition, and drop its text.
func (r *Reconciler) noteRepair(ctx context.Context, f *yubav1.FailoverRecord, repaired []string) error {
	if len(repaired) == 0 {
		return nil
	}
	return r.setRepair(ctx, f, &yubav1.FailoverRepair{At: metav1.NewMicroTime(r.Now()), Records: repaired})
}

func (r *Reconciler) setRepair(ctx context.Context, f *yubav1.FailoverRecord, repair *yubav1.FailoverRepair) error {
	before := f.DeepCopy()
	f.Status.LastRepair = repair
	if err := reconciling.PatchStatus(ctx, r.Client, before, f); err != nil {
		return fmt.Errorf("note in the status of FailoverRecord %s/%s what is repaired: %w", f.Namespace, f.Name, err)
	}
	return nil
}

// kept reports whether an earlier pass left these records. A server that could not be reached, or refused a repair, has them still.
func kept(f *yubav1.FailoverRecord, wanted []string) bool {
	ready := conditions.Of(f, infrav1.ConditionReady).Reason
	return f.Generation == f.Status.ObservedGeneration && slices.Equal(f.Status.Records, wanted) &&
		slices.Contains([]string{yubav1.ReasonRecordPublished, yubav1.ReasonRecordUnverified, yubav1.ReasonRecordUnreachable}, ready)
}

// withdraw removes the records of an object that is deleted, from all places.
func (r *Reconciler) withdraw(ctx context.Context, f *yubav1.FailoverRecord) error {
	if f.Spec.Suspend {
		return nil
	}
	places, err := r.known(ctx, f)
	if err != nil {
		return err
	}
	var first error
	for _, p := range places {
		err := r.remove(ctx, f, p)
		var wrong *problem
		if errors.As(err, &wrong) { // the credentials are gone, as when the namespace is deleted
			r.Log.Warn("the DNS records of a deleted FailoverRecord stay on the server", "record", f.Namespace+"/"+f.Name, "host", f.Spec.Host, "server", p.URL, "error", err)
			continue
		}
		first = cmp.Or(first, err)
	}
	return first
}

// isGone reports that a server does not have a zone any more.
func isGone(err error) bool {
	var refused *powerdns.RefusedError
	return errors.As(err, &refused) && refused.Status == 404
}

// recordAnswer shows an answer in the status.
func (r *Reconciler) recordAnswer(f *yubav1.FailoverRecord, spec record.Spec, answered []netip.Addr) {
	texts := make([]string, len(answered))
	for i, a := range answered {
		texts[i] = a.String()
	}
	if answer := strings.Join(texts, ","); answer != f.Status.Answer {
		now := metav1.NewTime(r.Now())
		f.Status.Answer, f.Status.AnswerChangedAt = answer, &now
	}
	states := record.Infer(spec, answered)
	f.Status.Endpoints = nil
	for _, e := range spec.Endpoints {
		f.Status.Endpoints = append(f.Status.Endpoints, yubav1.FailoverEndpointStatus{Name: e.Name, State: states[e.Name]})
	}
	slices.SortFunc(f.Status.Endpoints, func(a, b yubav1.FailoverEndpointStatus) int { return strings.Compare(a.Name, b.Name) })
}
