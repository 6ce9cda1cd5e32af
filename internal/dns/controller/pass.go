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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/simulate"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
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
		r.dropped.Delete(f.UID)
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
	return wrote, f.Status.Answer, r.dropEndpoint(ctx, f) // it was published otherwise, perhaps
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
	is, err := r.known(ctx, f)
	if err != nil {
		return err
	}
	f.Status.Writes = is.Writes
	var first error
	for _, p := range is.Places {
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
