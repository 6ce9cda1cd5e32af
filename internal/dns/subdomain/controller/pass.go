// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/names"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// pause is how long a claim waits for another one that takes the name at the same moment. They wait differently.
func pause() time.Duration { return 100*time.Millisecond + rand.N(400*time.Millisecond) } //nolint:gosec // no secret

// pass keeps a claim: gather, decide, write, verify.
func (r *Reconciler) pass(ctx context.Context, c *yubav1.SubdomainClaim) (outcome, error) {
	// 1. The pool, and its rules.
	pool, err := r.poolOf(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	domain, err := r.nameOf(ctx, c, pool)
	if err != nil {
		return outcome{}, err
	}
	c.Status.Domain = domain
	// 2. The addresses, and the records that follow.
	addresses, waits, err := r.addresses(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	records := recordsOf(domain, pool, addresses)
	if pool.Spec.PowerDNS == nil {
		return r.manual(ctx, c, pool, records, waits)
	}
	// 3. How long the name is kept without addresses.
	var reserves reservation
	if len(records) == 0 {
		if reserves, err = r.reserve(ctx, c, pool); err != nil {
			return outcome{}, err
		}
		if !reserves.runs {
			return r.expired(c, reserves.refused, waits), nil
		}
	}
	// 4. The server: decide and write.
	t := &taking{r: r, c: c, pool: poolKey(c), domain: domain, wanted: records, consent: consentOf(pool, c)}
	if t.server, err = r.connect(ctx, pool); err != nil {
		return outcome{}, err
	}
	zone, err := zoneOf(ctx, t.server, pool)
	if errors.Is(err, powerdns.ErrNoZone) {
		return outcome{}, problemf(yubav1.ReasonRecordNoZone, true, "the server has no zone for %s. Create the zone on the server", pool.Spec.Domain)
	}
	if err != nil {
		return outcome{}, err
	}
	t.place = yubav1.SubdomainPlace{URL: pool.Spec.PowerDNS.URL, Zone: zone, OwnerID: cmp.Or(pool.Spec.PowerDNS.OwnerID, "default")}
	wasAt, wasPhase := c.Status.Addresses, c.Status.Phase
	_, err = t.do(ctx)
	var all []news // also if a later step fails: nobody finds a repair twice
	if len(t.repaired) > 0 {
		all = append(all, news{corev1.EventTypeWarning, yubav1.ReasonClaimRepaired, "Somebody changed the records, and Yuba wrote them again: " + strings.Join(t.repaired, "; ")})
	}
	var wrong *problem
	if taken := errors.As(err, &wrong) && wrong.reason == yubav1.ReasonRecordOwned; reserves.begins && (t.released || taken) {
		err = errors.Join(err, r.giveBack(ctx, c, pool, reserves))
	} else if reserves.begins && err != nil {
		c.Status.Renewals = reserves.renewals // it stays counted, as it may be written; the next pass counts the same
	}
	if err != nil {
		return outcome{news: all}, err
	}
	if len(records) > 0 {
		err = r.forget(ctx, c, pool)
	}
	if err != nil {
		return outcome{news: all}, err
	}
	o := r.record(c, pool, t, waits)
	o.news = all
	c.Status.FormerUIDs = nil // the registration names this claim, or nobody
	// 5. Verify, and tell.
	if c.Status.Phase == yubav1.SubdomainCommitted {
		if err := r.verify(ctx, pool, records); err != nil {
			return outcome{news: all}, err
		}
		if wasPhase == yubav1.SubdomainCommitted && wasAt != c.Status.Addresses {
			o.news = append(o.news, news{corev1.EventTypeNormal, yubav1.ReasonClaimAddressesChanged, fmt.Sprintf("%s leads to %s; before it was %s", domain, c.Status.Addresses, wasAt)})
		}
	}
	return o, nil
}

// poolOf finds the pool, and checks that it accepts the claim.
func (r *Reconciler) poolOf(ctx context.Context, c *yubav1.SubdomainClaim) (*yubav1.SubdomainPool, error) {
	key := poolKey(c)
	var pool yubav1.SubdomainPool
	err := r.Client.Get(ctx, key, &pool)
	foreign := key.Namespace != c.Namespace
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, err
	case err == nil && foreign && !slices.Contains(pool.Spec.AllowedNamespaces, c.Namespace) && !slices.Contains(pool.Spec.AllowedNamespaces, "*"),
		apierrors.IsNotFound(err) && foreign: // whether it exists is not told
		return nil, problemf(yubav1.ReasonClaimPool, true, "the SubdomainPool %s does not exist, or its spec.allowedNamespaces does not name %s", key, c.Namespace)
	case err != nil:
		return nil, problemf(yubav1.ReasonClaimPool, false, "the SubdomainPool %s does not exist", key)
	case !pool.DeletionTimestamp.IsZero() && c.Status.Phase == "":
		return nil, problemf(yubav1.ReasonClaimPool, false, "the SubdomainPool %s is being deleted", key)
	case moving.Held(&pool) != "" && c.Status.Phase == "": // claims that have a name keep it with the copy
		return nil, problemf(yubav1.ReasonClaimPool, true, "the SubdomainPool %s accepts no more claims here. %s", key, moving.Held(&pool))
	}
	return &pool, nil
}

// nameOf is the claimed domain. The rules apply to names that are claimed; who has a name keeps it.
func (r *Reconciler) nameOf(ctx context.Context, c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool) (string, error) {
	if has := c.Status.Phase == yubav1.SubdomainReserved || c.Status.Phase == yubav1.SubdomainCommitted; has && c.Status.Domain != "" && within(c.Status.Domain, pool.Spec.Domain) {
		return c.Status.Domain, nil
	}
	s := &pool.Spec
	name, err := names.Parse(c.Spec.Name, names.Rules{Whole: s.Whole, International: s.International, Reserved: s.Reserved, Blocked: s.Blocked})
	var reserved *names.ReservedError
	switch {
	case errors.As(err, &reserved):
		return "", problemf(yubav1.ReasonClaimReservedName, false, "%w. Use another name", err)
	case err != nil:
		return "", problemf(yubav1.ReasonClaimName, false, "%w", err)
	case name == names.Apex:
		return s.Domain, nil
	}
	var claims yubav1.SubdomainClaimList
	if err := r.Client.List(ctx, &claims, client.MatchingFields{indexPool: poolKey(c).String()}, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	if err := allowed(c, pool, claims.Items); err != nil {
		return "", err
	}
	domain := name + "." + s.Domain
	for _, o := range claims.Items {
		has := o.Status.Phase == yubav1.SubdomainReserved || o.Status.Phase == yubav1.SubdomainCommitted
		other, below := strings.CutSuffix(o.Status.Domain, "."+s.Domain)
		if has && below && o.UID != c.UID && other != name && names.Skeleton(other) == names.Skeleton(name) {
			return "", problemf(yubav1.ReasonClaimReservedName, true, "the name %s looks like one that is claimed. Use another name", name)
		}
	}
	return domain, nil
}

// recordsOf are the records of a claim.
func recordsOf(domain string, pool *yubav1.SubdomainPool, addresses []netip.Addr) (all []yubav1.SubdomainRecord) {
	families := map[string][]string{}
	for _, a := range addresses {
		kind := "AAAA"
		if a.Is4() {
			kind = "A"
		}
		families[kind] = append(families[kind], a.String())
	}
	for _, label := range pool.Spec.Records {
		name := domain
		if label != names.Apex {
			name = label + "." + domain
		}
		for _, kind := range []string{"A", "AAAA"} {
			if len(families[kind]) > 0 {
				all = append(all, yubav1.SubdomainRecord{Name: name, Type: kind, TTL: pool.Spec.TTL, Addresses: families[kind]})
			}
		}
	}
	return all
}

// record fills in the status after the name was taken, kept, or given up.
func (r *Reconciler) record(c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool, t *taking, waits string) outcome {
	now := metav1.NewTime(r.Now())
	if t.released {
		return r.expired(c, nil, waits)
	}
	if len(t.wanted) == 0 {
		c.Status.Phase, c.Status.Records, c.Status.Addresses, c.Status.CommittedAt = yubav1.SubdomainReserved, nil, "", nil
		left := c.Status.ExpiresAt.Sub(now.Time)
		message := fmt.Sprintf("%s is reserved until %s, and waits for addresses: %s", t.domain, c.Status.ExpiresAt.UTC().Format(time.RFC3339), waits)
		return outcome{reason: yubav1.ReasonClaimReserved, message: message, after: max(min(every(pool), left), 0) + time.Millisecond}
	}
	if c.Status.Phase != yubav1.SubdomainCommitted {
		c.Status.CommittedAt = &now
	}
	c.Status.Phase, c.Status.Records, c.Status.Addresses, c.Status.ExpiresAt = yubav1.SubdomainCommitted, t.wanted, addressesOf(t.wanted), nil
	c.Status.Renewals = 0
	message := fmt.Sprintf("%s and %d more records lead to %s", t.domain, len(t.wanted)-1, c.Status.Addresses)
	if waits != "" {
		message += ", which were its last addresses: " + waits
	}
	return outcome{reason: yubav1.ReasonClaimCommitted, message: message, after: every(pool)}
}

func addressesOf(records []yubav1.SubdomainRecord) string {
	var all []string
	for _, r := range records {
		for _, a := range r.Addresses {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return strings.Join(all, ",")
}

// nameserver is where a pool's server answers.
func nameserver(pool *yubav1.SubdomainPool) string {
	if n := pool.Spec.PowerDNS.Nameserver; n != "" {
		return n
	}
	u, err := url.Parse(pool.Spec.PowerDNS.URL)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), "53")
}
