// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// maxWrites is how many writes a claim knows as its own. More than one: those without an answer, and those that the database of
// a DNS server has again after a restore.
const maxWrites = 16

// decide decides with what the API itself has: the cache may lack the last writes, and may not know that another home has the
// claim. The DNS server was read before the API, so the API knows each write of this claim that the server had. A write is noted
// in the status before it is made. again means that the caller must begin again: another process has changed the claim, or the
// claim now knows one more write as its own.
func (t *taking) decide(ctx context.Context, facts decide.Facts) (d decide.Decision, again bool, err error) {
	d = decide.Decide(facts)
	if len(d.Changes) == 0 && d.Verb != decide.Taken && d.Verb != decide.Release && d.Adopted == "" && !t.gone {
		return d, false, nil
	}
	var live yubav1.SubdomainClaim
	err = t.r.Direct.Get(ctx, client.ObjectKeyFromObject(t.c), &live)
	switch {
	case t.gone && (apierrors.IsNotFound(err) || err == nil && live.UID != t.c.UID): // it knows all of its own
		return d, false, nil
	case err != nil:
		return d, false, fmt.Errorf("read SubdomainClaim %s before its records are written: %w", client.ObjectKeyFromObject(t.c), err)
	}
	if held := moving.Held(&live); held != "" { // two homes must not write the records of one name
		return d, false, problemf(yubav1.ReasonRecordMoved, true, "%s", held)
	}
	facts.Writes = live.Status.Writes
	t.c.Status.Writes = live.Status.Writes
	if t.gone {
		return decide.Decide(facts), false, nil
	}
	facts.Write, facts.TakeOverWrite = strings.ToLower(rand.Text()), live.Annotations[yubav1.AnnotationTakeOverWrite]
	d = decide.Decide(facts)
	writes := live.Status.Writes
	switch {
	case d.Adopted != "":
		writes = remembering(writes, d.Adopted)
	case d.Registers && d.Ours != "": // however many attempts get no answer, the write that the server has is not forgotten
		writes = remembering(writes, d.Ours, facts.Write)
	case d.Registers:
		writes = remembering(writes, facts.Write)
	}
	if len(d.Changes) > 0 || d.Adopted != "" {
		err = t.note(ctx, &live, writes, d)
	}
	if apierrors.IsConflict(err) {
		return d, true, nil
	}
	return d, d.Adopted != "", err
}

// note stores the place, the records and the write before they are written: who deletes the claim after a crash must know. It
// also stores what is repaired. The status then differs with each repair, and so does the resource version: the API's clients
// count an event about the same version as a repetition, and drop its text.
func (t *taking) note(ctx context.Context, live *yubav1.SubdomainClaim, writes []string, d decide.Decision) error {
	before, s := live.DeepCopy(), &live.Status
	s.Place, s.Writes = &t.place, writes
	if len(d.Repaired) > 0 {
		s.LastRepair = &yubav1.SubdomainRepair{At: metav1.NewMicroTime(t.r.Now()), Records: d.Repaired}
	}
	for _, w := range t.wanted {
		if d.Registers && !slices.ContainsFunc(s.Records, func(r yubav1.SubdomainRecord) bool { return r.Name == w.Name && r.Type == w.Type }) {
			s.Records = append(s.Records, w)
		}
	}
	if !equality.Semantic.DeepEqual(before.Status, live.Status) {
		patched := live.DeepCopy() // the API's response replaces it
		if err := t.r.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
			return fmt.Errorf("note in the status of SubdomainClaim %s what is written: %w", client.ObjectKeyFromObject(t.c), err)
		}
		t.c.SetResourceVersion(patched.GetResourceVersion())
	}
	t.c.Status.Place, t.c.Status.Writes, t.c.Status.Records, t.c.Status.LastRepair = s.Place, s.Writes, s.Records, s.LastRepair
	return nil
}

// remembering makes writes the newest ones that are known.
func remembering(writes []string, newest ...string) []string {
	writes = slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return slices.Contains(newest, w) })
	writes = append(writes, newest...)
	return writes[max(0, len(writes)-maxWrites):]
}

// way says how this claim gets its name from a copy of itself.
func (t *taking) way(d decide.Decision) string {
	switch {
	case d.By != "":
		return fmt.Sprintf(". If the name is to be this copy's, run the following; the other one stops then:\n    yuba kubectl annotate subdomainclaim %s -n %s --overwrite %s=%s",
			t.c.Name, t.c.Namespace, yubav1.AnnotationTakeOverWrite, d.By)
	case d.Text != "":
		return fmt.Sprintf(". If the name is to be this claim's, the owner of the pool runs the following; the other one stops then:\n    yuba kubectl annotate subdomainpool %s -n %s --overwrite %s='%s/%s %s %s'",
			t.pool.Name, t.pool.Namespace, yubav1.AnnotationTakeOver, t.c.Namespace, t.c.Name, t.c.UID, d.Text)
	}
	return ""
}
