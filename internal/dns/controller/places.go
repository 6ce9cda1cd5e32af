// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/decide"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// maxPlaces limits the places of an object: each former one that does not answer costs a pass the timeout.
const maxPlaces = 4

// placeOf is the place that a spec asks for.
func placeOf(f *yubav1.FailoverRecord, zone string) yubav1.FailoverPlace {
	p := &f.Spec.Publish.PowerDNS
	return yubav1.FailoverPlace{URL: p.URL, Secret: p.SecretRef.Name, Zone: zone, OwnerID: cmp.Or(p.OwnerID, "default")}
}

// base is the part of a URL that says which server is meant.
func base(url string) string {
	return strings.TrimSuffix(strings.TrimRight(url, "/"), "/api/v1")
}

// markOf is what a registration says of the server that it was written to: two URLs may lead to one server.
func markOf(p yubav1.FailoverPlace) string {
	sum := sha256.Sum256([]byte(base(p.URL)))
	return hex.EncodeToString(sum[:6])
}

// holds reports whether two places have the same registration.
func holds(a, b yubav1.FailoverPlace) bool { return base(a.URL) == base(b.URL) && a.Zone == b.Zone }

// same reports whether two places differ in nothing but their writes.
func same(a, b yubav1.FailoverPlace) bool {
	a.Writes, b.Writes = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

// writesAt are the writes of the object that a place may have. A former place keeps those of its time: meanwhile the object may
// have written elsewhere more often than the status remembers.
func writesAt(is *yubav1.FailoverRecordStatus, at yubav1.FailoverPlace) []string {
	all := slices.Clone(is.Writes)
	for _, p := range is.Places {
		if holds(p, at) {
			all = append(all, p.Writes...)
		}
	}
	return all
}

// including makes a place the present one, which is the first. All others stay until their records are removed. The last writes
// go to the place that was the present one, and a place that is it again gives its own back.
func including(is *yubav1.FailoverRecordStatus, here yubav1.FailoverPlace) (places []yubav1.FailoverPlace, writes []string, err error) {
	places, writes = []yubav1.FailoverPlace{here}, is.Writes
	for i, p := range is.Places {
		if holds(p, here) && p.OwnerID == here.OwnerID {
			writes = remembering(writes, p.Writes...)
			continue
		}
		if i == 0 && len(p.Writes) == 0 {
			p.Writes = is.Writes
		}
		places = append(places, p)
	}
	if len(places) > maxPlaces {
		return is.Places, is.Writes, problemf(yubav1.ReasonRecordUnreachable,
			"the records at %d former places are not removed yet (status.places): let their servers answer, or go back to one of them", len(is.Places))
	}
	return places, writes, nil
}

// former are the places whose records are to be removed. Where the present registration is, the former one is not.
func former(places []yubav1.FailoverPlace, here yubav1.FailoverPlace) (all []yubav1.FailoverPlace) {
	for _, p := range places {
		if !holds(p, here) {
			all = append(all, p)
		}
	}
	return all
}

// note stores where the records will be before they are written: who deletes the object after a crash must know.
func (r *Reconciler) note(ctx context.Context, f *yubav1.FailoverRecord, here yubav1.FailoverPlace) error {
	if places, _, err := including(&f.Status, here); err != nil || equality.Semantic.DeepEqual(places, f.Status.Places) {
		return err
	}
	known, err := r.known(ctx, f)
	if err != nil {
		return err
	}
	places, writes, err := including(&known, here)
	if err != nil {
		return err
	}
	before := f.DeepCopy()
	f.Status.Places, f.Status.Writes = places, writes
	if err := reconciling.PatchStatus(ctx, r.Client, before, f); err != nil {
		return fmt.Errorf("note in the status where the record is, before it is written: %w", err)
	}
	return nil
}

// known reads the places and writes from the API itself: the cache may not have those of the last pass yet. An object that another
// home has has none.
func (r *Reconciler) known(ctx context.Context, f *yubav1.FailoverRecord) (none yubav1.FailoverRecordStatus, err error) {
	var is yubav1.FailoverRecord
	err = r.Direct.Get(ctx, client.ObjectKeyFromObject(f), &is)
	if err == nil && is.UID != f.UID {
		err = errors.New("the object was deleted and created again")
	}
	if err != nil {
		return none, fmt.Errorf("read where the records of FailoverRecord %s/%s are: %w", f.Namespace, f.Name, err)
	}
	if moving.Held(&is) != "" && !is.DeletionTimestamp.IsZero() {
		return none, nil
	}
	return is.Status, nil
}

// leave removes the records from former places, and returns those that have some. It is for when the present one answers;
// the zero value is none.
func (r *Reconciler) leave(ctx context.Context, f *yubav1.FailoverRecord, here yubav1.FailoverPlace) (kept []yubav1.FailoverPlace) {
	if here.URL != "" {
		kept = append(kept, here)
	}
	for i, p := range former(f.Status.Places, here) {
		if i == 0 {
			live, err := r.here(ctx, f)
			if err != nil {
				return f.Status.Places // the next pass says why
			}
			f.Status.Writes = live.Writes
		}
		if err := r.remove(ctx, f, p); err != nil {
			kept = append(kept, p)
			f.Status.Warnings = append(f.Status.Warnings, fmt.Sprintf("the records at %s, zone %s, are not removed yet: %v", p.URL, p.Zone, err))
		}
	}
	return kept
}

// remove removes the records of an object from a place.
func (r *Reconciler) remove(ctx context.Context, f *yubav1.FailoverRecord, p yubav1.FailoverPlace) error {
	s, err := r.server(ctx, f.Namespace, p.URL, p.Secret)
	if err != nil {
		return err
	}
	lock := r.lock(s.URL)
	defer lock()
	facts, err := s.facts(ctx, f, p)
	if err == nil {
		err = s.change(ctx, p.Zone, decide.Decide(facts).Changes)
	}
	if isGone(err) {
		return nil
	}
	return err
}
