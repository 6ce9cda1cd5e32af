// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
)

// taking is one pass over the server for a claim: it takes the name, keeps it, or releases it.
type taking struct {
	r      *Reconciler
	c      *yubav1.SubdomainClaim
	pool   types.NamespacedName
	server *powerdns.Client
	place  yubav1.SubdomainPlace
	domain string
	wanted []yubav1.SubdomainRecord
	// gone: the claim is deleted.
	gone bool
	// consent is the text of the registration that the pool's owner lets the claim replace.
	consent string
	// released: the name is not the claim's any more.
	released bool
	// repaired are the records that somebody else had changed.
	repaired []string
}

// do reads, decides and writes until nothing is left to do.
func (t *taking) do(ctx context.Context) (decide.Decision, error) {
	locked := 0
	t.r.left.uses(t)
	for range 8 { // a bid, and the registration; more if another process notes a write meanwhile, or the server forgets what it confirmed
		began := time.Now()
		facts, err := t.facts(ctx)
		if err != nil {
			return decide.Decision{}, err
		}
		d, again, err := t.decide(ctx, facts)
		if err != nil {
			return d, err
		}
		if again {
			continue
		}
		switch { // known before it is written: the claim may end before the answer
		case d.Registers:
			t.r.left.add(t, true)
		case d.Verb == decide.Bid:
			t.r.left.add(t, false)
		}
		err = t.change(ctx, began, d.Changes)
		var refused *powerdns.RefusedError
		known := errors.As(err, &refused) && refused.Status < http.StatusInternalServerError
		if len(d.Repaired) > 0 && !known { // they may be written: the next pass sees nothing to repair
			t.repaired = d.Repaired
		}
		if refused != nil && refused.Status >= http.StatusInternalServerError && locked < maxLocked {
			if locked++; !t.pause(ctx) {
				return d, err
			}
			continue // with what the server has then: others write in the meantime
		}
		if err != nil {
			return d, err
		}
		if d.Registers {
			if t.gone, err = t.deleted(ctx); err != nil {
				return d, err
			}
			if t.gone { // and another process may have removed the records before this one wrote them
				continue
			}
			t.r.left.forget(t, true)
		}
		switch d.Verb {
		case decide.Bid:
			continue
		case decide.Wait:
			return d, problemf(yubav1.ReasonClaimContended, true, "%s: %s", t.domain, d.Because)
		case decide.Taken:
			t.lost()
			return d, problemf(yubav1.ReasonRecordOwned, true, "%s%s", d.Because, t.way(d))
		case decide.Release:
			if t.released = true; t.gone {
				t.r.left.forget(t, true)
			}
		}
		return d, nil
	}
	return decide.Decision{}, fmt.Errorf("take %s: the server does not have the bid that it confirmed, or another process changes the claim all the time. Does another server answer its API?", t.domain)
}

// A database that another client locks, which the server answers with an error of its own, is free in a moment.
const (
	maxLocked = 2
	lockedFor = 100 * time.Millisecond
)

// pause waits for a locked database, and reports false if the server ends meanwhile.
func (t *taking) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lockedFor):
		return true
	}
}

// deleted reports whether the claim is deleted, or is about to be.
func (t *taking) deleted(ctx context.Context) (bool, error) {
	var is yubav1.SubdomainClaim
	err := t.r.Direct.Get(ctx, client.ObjectKeyFromObject(t.c), &is)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("look whether the SubdomainClaim %s is deleted: %w", client.ObjectKeyFromObject(t.c), err)
	}
	return err != nil || is.UID != t.c.UID || !is.DeletionTimestamp.IsZero(), nil
}

// lost: somebody else has the name. What the claim wrote once is not its own any more.
func (t *taking) lost() {
	if t.c.Status.Phase == yubav1.SubdomainReserved || t.c.Status.Phase == "" {
		t.c.Status.Phase = ""
	}
}

// facts reads what the server has: the bids first, and the registration last (see package decide).
func (t *taking) facts(ctx context.Context) (decide.Facts, error) {
	s := &t.c.Status
	f := decide.Facts{Now: t.r.Now(), Domain: t.domain, Gone: t.gone, TakeOver: t.consent,
		Me: t.me(), Former: s.FormerUIDs, Wanted: setsOf(t.wanted), Last: setsOf(s.Records), Committed: s.Phase == yubav1.SubdomainCommitted, Writes: s.Writes}
	if s.ExpiresAt != nil {
		f.Until = s.ExpiresAt.Time
	}
	registration := decide.RegistrationOf(t.domain)
	below, err := t.server.Below(ctx, t.domain)
	if errors.Is(err, powerdns.ErrTooMany) && s.Phase == yubav1.SubdomainCommitted { // its own names are enough
		below, err = t.each(ctx)
	}
	if err != nil {
		return f, err
	}
	f.There = append(f.There, seen(below, registration)...)
	if s.Phase == "" && s.Domain != t.place.Zone && t.domain != t.place.Zone {
		has, err := t.server.HasZone(ctx, t.domain)
		if err != nil {
			return f, err
		}
		if has {
			f.There = append(f.There, decide.RRset{Name: t.domain, Type: "SOA"})
		}
	}
	if s.Phase != yubav1.SubdomainCommitted && !t.gone {
		if f.Above, err = t.above(ctx); err != nil {
			return f, err
		}
	}
	if t.consent != "" {
		if f.Living, err = t.r.living(ctx, decide.RegisteredTo(t.consent).UID, t.c.UID); err != nil {
			return f, err
		}
	}
	for _, name := range []string{t.domain, registration} {
		sets, err := t.server.RRsets(ctx, t.place.Zone, name)
		if err != nil {
			return f, err
		}
		if name == t.place.Zone { // the zone's own records are nobody's in particular
			sets = slices.DeleteFunc(sets, func(r powerdns.RRset) bool { return r.Type == "SOA" || r.Type == "NS" })
		}
		f.There = append(f.There, seen(sets, "")...)
	}
	return f, nil
}

// each reads the names that have the claim's records, one by one.
func (t *taking) each(ctx context.Context) (all []powerdns.RRset, err error) {
	names := []string{decide.BidOf(t.domain, decide.Owner{UID: string(t.c.UID), Process: t.r.process})}
	for _, r := range slices.Concat(t.wanted, t.c.Status.Records) {
		if r.Name != t.domain && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	for _, name := range names {
		sets, err := t.server.RRsets(ctx, t.place.Zone, name)
		if err != nil {
			return nil, err
		}
		all = append(all, sets...)
	}
	return all, nil
}

// seen are record sets as they are decided about, but those of a name.
func seen(sets []powerdns.RRset, but string) (all []decide.RRset) {
	for _, set := range sets {
		there := decide.RRset{Name: strings.ToLower(strings.TrimSuffix(set.Name, ".")), Type: set.Type, TTL: set.TTL}
		if there.Name == but {
			continue
		}
		for _, rec := range set.Records {
			there.Contents = append(there.Contents, rec.Content)
		}
		all = append(all, there)
	}
	return all
}

func setsOf(records []yubav1.SubdomainRecord) (all []decide.RRset) {
	for _, r := range records {
		all = append(all, decide.RRset{Name: r.Name, Type: r.Type, TTL: int(r.TTL), Contents: r.Addresses})
	}
	return all
}

// change writes, in one transaction, soon after what was read.
func (t *taking) change(ctx context.Context, read time.Time, changes []decide.RRset) error {
	if len(changes) == 0 {
		return nil
	}
	sets := make([]powerdns.RRset, len(changes))
	for i, c := range changes {
		sets[i] = powerdns.RRset{Name: c.Name + ".", Type: c.Type, TTL: c.TTL}
		for _, content := range c.Contents {
			sets[i].Records = append(sets[i].Records, powerdns.Record{Content: content})
		}
	}
	defer t.r.lock(t.place.URL)()
	ctx, cancel := context.WithDeadline(ctx, read.Add(maxHold))
	defer cancel()
	err := t.server.Change(ctx, t.place.Zone, sets)
	if mine := decide.BidOf(t.domain, t.me()); err == nil && slices.ContainsFunc(changes, func(c decide.RRset) bool { return c.Name == mine && len(c.Contents) == 0 }) {
		t.r.left.forget(t, false)
	}
	return err
}

// me is the claim in this process.
func (t *taking) me() decide.Owner {
	return decide.Owner{Server: t.place.OwnerID, Namespace: t.c.Namespace, Name: t.c.Name, UID: string(t.c.UID), Process: t.r.process}
}
