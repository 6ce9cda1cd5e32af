// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/decide"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// maxWrites is how many writes an object knows as its own. More than one: those without an answer, those at former places, and
// those that the database of a DNS server has again after a restore.
const maxWrites = 16

// write makes the server's records those that are wanted.
func (r *Reconciler) write(ctx context.Context, s *server, f *yubav1.FailoverRecord, here yubav1.FailoverPlace, records []record.Record, ttl int) (bool, error) {
	lock := r.lock(s.URL)
	defer lock()
	facts, err := s.facts(ctx, f, here)
	if err != nil {
		return false, err
	}
	facts.TTL, facts.TakeOver = ttl, f.Annotations[yubav1.AnnotationTakeOverWrite]
	for _, p := range f.Status.Places {
		facts.Former = append(facts.Former, decide.Owner(p.OwnerID, f.Namespace, f.Name))
	}
	for _, rec := range records {
		facts.Wanted = append(facts.Wanted, rec.Content())
	}
	facts.Kept = kept(f, facts.Wanted) && len(f.Status.Places) > 0 && same(f.Status.Places[0], here)
	d := decide.Decide(facts)
	if d.Taken != "" || d.Adopted != "" || len(d.Changes) > 0 {
		// The cache may not know the last write yet, nor that another home has the object.
		live, err := r.here(ctx, f)
		if err != nil {
			return false, err
		}
		f.Status.Writes, facts.Writes, facts.Write = live.Writes, writesAt(&live, here), strings.ToLower(rand.Text())
		d = decide.Decide(facts)
	}
	if d.Taken != "" {
		return false, taken(f, d)
	}
	if err := r.note(ctx, f, here); err != nil {
		return false, err
	}
	f.Status.Zone = here.Zone
	if d.Adopted != "" {
		return false, r.noteWrite(ctx, f, remembering(f.Status.Writes, d.Adopted), nil)
	}
	if len(d.Changes) == 0 {
		return false, nil
	}
	// However many attempts get no answer, the write that the server has is never the one that is forgotten.
	repair, writes := f.Status.LastRepair, f.Status.Writes
	if d.Ours != "" {
		writes = remembering(writes, d.Ours)
	}
	if err := r.noteWrite(ctx, f, remembering(writes, facts.Write), d.Repaired); err != nil {
		return false, err
	}
	err = s.change(ctx, here.Zone, d.Changes)
	var refused *powerdns.RefusedError
	errors.As(err, &refused)
	switch {
	case refused != nil && !unclear(refused): // nothing is written
		return false, errors.Join(err, r.setWrites(ctx, f, writes, repair))
	case err != nil: // perhaps they are written: if so, the next pass sees nothing to repair
		if !facts.Kept {
			f.Status.Records = nil
		}
		if refused != nil { // an answer, even if unclear: a repair is told when it is made
			err = errors.Join(err, r.setWrites(ctx, f, f.Status.Writes, repair))
		}
		return false, err
	case len(d.Repaired) > 0:
		reconciling.Event(r.Events, f, corev1.EventTypeWarning, yubav1.ReasonRecordRepaired, "Publish",
			"Somebody changed the records, and Yuba wrote them again: "+strings.Join(d.Repaired, "; "))
	}
	return true, nil
}

// unclear reports whether a server may have written what it refuses. Its own errors (5xx) leave that open: a proxy reports so that
// it had no answer, and PowerDNS that it failed after its database had the records.
func unclear(refused *powerdns.RefusedError) bool {
	return refused.Status >= http.StatusInternalServerError
}

// taken says who has the name, and how this object gets it from a copy of itself.
func taken(f *yubav1.FailoverRecord, d decide.Decision) error {
	if d.By == "" {
		return problemf(yubav1.ReasonRecordOwned, "%s", d.Taken)
	}
	return problemf(yubav1.ReasonRecordOwned, "%s. If the name is to be this copy's, suspend or delete the other one, and run:\n    yuba kubectl annotate failoverrecord %s -n %s --overwrite %s=%s",
		d.Taken, f.Name, f.Namespace, yubav1.AnnotationTakeOverWrite, d.By)
}

// here returns the status of an object from the API itself. It is an error if another home has the object meanwhile: two homes
// must not write the records of one name.
func (r *Reconciler) here(ctx context.Context, f *yubav1.FailoverRecord) (none yubav1.FailoverRecordStatus, err error) {
	var live yubav1.FailoverRecord
	if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(f), &live); err != nil {
		return none, fmt.Errorf("read FailoverRecord %s/%s before its records are written: %w", f.Namespace, f.Name, err)
	}
	if held := moving.Held(&live); held != "" {
		return none, problemf(yubav1.ReasonRecordMoved, "%s", held)
	}
	return live.Status, nil
}

// noteWrite stores the writes before the last of them is done: who finds it on the server after a crash must know whose it is. It also stores what
// is repaired. The status then differs with each repair, and so does the resource version: the API's clients count an event
// about the same version as a repetition, and drop its text.
func (r *Reconciler) noteWrite(ctx context.Context, f *yubav1.FailoverRecord, writes, repaired []string) error {
	repair := f.Status.LastRepair
	if len(repaired) > 0 {
		repair = &yubav1.FailoverRepair{At: metav1.NewMicroTime(r.Now()), Records: repaired}
	}
	return r.setWrites(ctx, f, writes, repair)
}

func (r *Reconciler) setWrites(ctx context.Context, f *yubav1.FailoverRecord, writes []string, repair *yubav1.FailoverRepair) error {
	before := f.DeepCopy()
	f.Status.Writes, f.Status.LastRepair = writes, repair
	if err := reconciling.PatchStatus(ctx, r.Client, before, f); err != nil {
		return fmt.Errorf("note in the status of FailoverRecord %s/%s what is written: %w", f.Namespace, f.Name, err)
	}
	return nil
}

// remembering makes writes the newest ones that are known.
func remembering(writes []string, newest ...string) []string {
	writes = slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return slices.Contains(newest, w) })
	writes = append(writes, newest...)
	return writes[max(0, len(writes)-maxWrites):]
}
