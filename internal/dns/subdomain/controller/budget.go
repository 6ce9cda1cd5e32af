// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// namesPerClaim is how many names a namespace can have reserved in a day, for each claim that it may have.
const namesPerClaim = 4

// reservation is what a claim without addresses may do.
type reservation struct {
	// runs: the name is kept, or is to be taken. begins: from now.
	runs, begins bool
	// refused says why it does not begin.
	refused *decide.Refusal
	// renewals is the claim's count before, was what the pool remembered of the name; nil for nothing.
	renewals int32
	was      *decide.Reservation
}

// reserve begins a reservation, unless one is running or is over: only another spec, a request to reconcile, or addresses
// begin another. The pool counts them, so that a claim which is created anew does not begin with none. It counts before the
// name is taken: claims that begin at the same moment, or whose process ends, cannot have more than the pool allows.
func (r *Reconciler) reserve(ctx context.Context, c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool) (reservation, error) {
	renewed := c.Annotations[infrav1.AnnotationReconcile] != c.Status.LastHandledReconcileAt
	running := c.Status.Phase == yubav1.SubdomainReserved && c.Status.ExpiresAt != nil
	switch {
	case c.Status.Phase == yubav1.SubdomainExpired && !renewed && c.Generation == c.Status.ObservedGeneration:
		return reservation{}, nil
	case running && !renewed:
		return reservation{runs: true}, nil
	}
	begins, a := reservation{runs: true, begins: true, renewals: c.Status.Renewals}, asked(c)
	err := r.remember(ctx, pool, func(fresh *yubav1.SubdomainPool) []decide.Reservation {
		known := reservationsOf(fresh)
		begins.was = nil
		if i := slices.IndexFunc(known, func(o decide.Reservation) bool { return o.Namespace == a.Namespace && o.Domain == a.Domain }); i >= 0 {
			begins.was = &known[i]
		}
		counted, count, refused := budgetOf(fresh, c.Namespace).Reserve(r.Now(), known, a)
		if begins.refused = refused; refused != nil {
			return known
		}
		c.Status.Renewals = count
		return counted
	})
	if err != nil {
		return reservation{}, err
	}
	if begins.refused != nil {
		return reservation{runs: running, refused: begins.refused}, nil // a running one ends when it ends
	}
	now := metav1.NewTime(r.Now())
	end := metav1.NewTime(now.Add(max(cmp.Or(pool.Spec.ReservationTTL.Duration, reservationTTL), shortest)))
	c.Status.ReservedAt, c.Status.ExpiresAt = &now, &end
	return begins, nil
}

// asked is a claim's next reservation.
func asked(c *yubav1.SubdomainClaim) decide.Reservation {
	a := decide.Reservation{Namespace: c.Namespace, Domain: c.Status.Domain, Claim: string(c.UID), Renewals: c.Status.Renewals}
	if c.Status.Phase == yubav1.SubdomainExpired || c.Status.Phase == yubav1.SubdomainReserved {
		a.Renewals++
	}
	return a
}

// giveBack takes back that a reservation was counted: the claim did not get the name.
func (r *Reconciler) giveBack(ctx context.Context, c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool, begun reservation) error {
	counted := c.Status.Renewals
	c.Status.Renewals = begun.renewals
	return r.remember(ctx, pool, func(fresh *yubav1.SubdomainPool) []decide.Reservation {
		known := reservationsOf(fresh)
		i := slices.IndexFunc(known, func(o decide.Reservation) bool {
			return o.Namespace == c.Namespace && o.Domain == c.Status.Domain && o.Claim == string(c.UID) && o.Renewals == counted
		})
		switch {
		case i < 0: // another claim has been counted since
		case begun.was == nil:
			known = slices.Delete(known, i, i+1)
		default:
			known[i] = *begun.was
		}
		return known
	})
}

// forget ends the count of a claim's name: it has addresses.
func (r *Reconciler) forget(ctx context.Context, c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool) error {
	for _, one := range pool.Status.Reservations {
		if one.Namespace == c.Namespace && one.Domain == c.Status.Domain {
			return r.remember(ctx, pool, func(fresh *yubav1.SubdomainPool) []decide.Reservation {
				return decide.Forget(r.Now(), reservationsOf(fresh), c.Namespace, c.Status.Domain)
			})
		}
	}
	return nil
}

// remember changes the reservations in a pool's status. Claims are reconciled at the same time, so it reads them again
// after a conflict.
func (r *Reconciler) remember(ctx context.Context, pool *yubav1.SubdomainPool, change func(*yubav1.SubdomainPool) []decide.Reservation) error {
	var err error
	for range 10 {
		var fresh yubav1.SubdomainPool
		if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(pool), &fresh); err != nil {
			return fmt.Errorf("read the reservations of the SubdomainPool %s: %w", client.ObjectKeyFromObject(pool), err)
		}
		before := fresh.DeepCopy()
		fresh.Status.Reservations = nil
		for _, one := range change(before) {
			fresh.Status.Reservations = append(fresh.Status.Reservations, yubav1.SubdomainReservation{Namespace: one.Namespace, Domain: one.Domain, Claim: one.Claim, Renewals: one.Renewals, ReservedAt: metav1.NewTime(one.At)})
		}
		if err = r.Client.Status().Patch(ctx, &fresh, reconciling.ChangeOf(before)); err == nil || !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("note the reservation in the SubdomainPool %s: %w", client.ObjectKeyFromObject(pool), err)
	}
	return nil
}

// budgetOf is what a pool allows a namespace.
func budgetOf(pool *yubav1.SubdomainPool, namespace string) decide.Budget {
	b := decide.Budget{Renewals: renewals(pool)}
	if namespace != pool.Namespace {
		b.Names = namesPerClaim * int(cmp.Or(pool.Spec.MaxClaimsPerNamespace, maxClaims))
	}
	return b
}

func reservationsOf(pool *yubav1.SubdomainPool) (all []decide.Reservation) {
	for _, one := range pool.Status.Reservations {
		all = append(all, decide.Reservation{Namespace: one.Namespace, Domain: one.Domain, Claim: one.Claim, Renewals: one.Renewals, At: one.ReservedAt.Time})
	}
	return all
}

// renewals is how often a namespace can reserve a name of a pool again.
func renewals(pool *yubav1.SubdomainPool) int32 { return cmp.Or(pool.Spec.MaxRenewals, maxRenewals) }

// expired is the outcome of a claim whose reservation is over, or does not begin.
func (r *Reconciler) expired(c *yubav1.SubdomainClaim, refused *decide.Refusal, waits string) outcome {
	fresh := c.Status.ReservedAt == nil // the phase may be that of another process's pass
	c.Status.Phase, c.Status.Records, c.Status.Addresses = yubav1.SubdomainExpired, nil, ""
	message := fmt.Sprintf("The reservation of %s ended, because it has no addresses: %s", c.Status.Domain, waits)
	if fresh {
		message = fmt.Sprintf("%s is not reserved, and has no addresses: %s", c.Status.Domain, waits)
	}
	message += ". It is claimed again when they are known"
	again := fmt.Sprintf("yuba dns claim %s -n %s --renew", c.Name, c.Namespace)
	switch {
	case refused == nil:
		message += ", or by: " + again
	case refused.Renewals:
		message += fmt.Sprintf(". The namespace has reserved it %d times without addresses, and the pool allows no more (spec.maxRenewals). After %s: %s", refused.Count, refused.Until.UTC().Format(time.RFC3339), again)
	default:
		message += fmt.Sprintf(". The namespace has reserved %d names without addresses within a day, and the pool allows no more (%d for each of spec.maxClaimsPerNamespace). After %s: %s", refused.Count, namesPerClaim, refused.Until.UTC().Format(time.RFC3339), again)
	}
	return outcome{reason: yubav1.ReasonClaimExpired, message: message}
}
