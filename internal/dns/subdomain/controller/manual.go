// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/connect"
	"github.com/yuba-dev/yuba/internal/dns/resolve"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// manual keeps a claim whose records somebody else writes: it says which, and asks for them.
func (r *Reconciler) manual(ctx context.Context, c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool, records []yubav1.SubdomainRecord, waits string) (outcome, error) {
	if err := r.first(ctx, c); err != nil {
		c.Status.Phase = ""
		return outcome{}, err
	}
	t := &taking{domain: c.Status.Domain, wanted: records}
	if len(records) == 0 {
		c.Status.Phase, c.Status.Records, c.Status.Addresses = yubav1.SubdomainReserved, nil, ""
		return outcome{reason: yubav1.ReasonClaimReserved, after: every(pool),
			message: fmt.Sprintf("%s waits for addresses: %s", t.domain, waits)}, nil
	}
	c.Status.Records, c.Status.Addresses = records, addressesOf(records)
	missing := 0
	first := ""
	for _, rec := range records {
		is, err := resolve.Check(ctx, outbound.Dialer(connect.Timeout), pool.Spec.Manual.Resolver, rec.Name, rec.Type, rec.Addresses)
		if err != nil {
			return outcome{}, err
		}
		if is != "" {
			missing++
			first = firstOf(first, fmt.Sprintf("%s %s %s", rec.Name, rec.Type, is))
		}
	}
	if missing > 0 {
		c.Status.Phase = yubav1.SubdomainReserved
		return outcome{reason: yubav1.ReasonClaimMissing, after: min(every(pool), retry), message: fmt.Sprintf(
			"%d of %d records are not there yet: %s. To see them all: yuba dns check %s -n %s", missing, len(records), first, c.Name, c.Namespace)}, nil
	}
	return r.record(c, pool, t, waits), nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// first refuses a claim of a name that an older one has.
func (r *Reconciler) first(ctx context.Context, c *yubav1.SubdomainClaim) error {
	var claims yubav1.SubdomainClaimList
	if err := r.Client.List(ctx, &claims, client.MatchingFields{indexPool: poolKey(c).String()}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range claims.Items {
		o := &claims.Items[i]
		older := o.CreationTimestamp.Before(&c.CreationTimestamp) || o.CreationTimestamp.Equal(&c.CreationTimestamp) && o.UID < c.UID
		if o.UID != c.UID && older && strings.EqualFold(o.Spec.Name, c.Spec.Name) {
			return problemf(yubav1.ReasonRecordOwned, true, "%s belongs to another claim. Use another name", c.Status.Domain)
		}
	}
	return nil
}

// verify asks the server for the first record, as resolvers do.
func (r *Reconciler) verify(ctx context.Context, pool *yubav1.SubdomainPool, records []yubav1.SubdomainRecord) error {
	server, rec := nameserver(pool), records[0]
	answer, err := resolve.Ask(ctx, outbound.Dialer(connect.Timeout), server, resolve.Example(rec.Name), rec.Type)
	if err != nil {
		return problemf(yubav1.ReasonRecordUnverified, true, "the records are written, but cannot be verified: %w. Does the pool's spec.powerDNS.nameserver say where the server answers?", err)
	}
	got := make([]string, len(answer.Addresses))
	for i, a := range answer.Addresses {
		got[i] = a.String()
	}
	if wanted := slices.Sorted(slices.Values(rec.Addresses)); !slices.Equal(slices.Sorted(slices.Values(got)), wanted) {
		return problemf(yubav1.ReasonRecordUnverified, true, "the records are written, but %s answers %s with %q for %s: it may have kept an older answer", server, answer.Code, strings.Join(got, ","), rec.Name)
	}
	return nil
}
