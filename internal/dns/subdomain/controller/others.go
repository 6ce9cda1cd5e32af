// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
)

// defaults of pools of Go programs.
const (
	maxClaims   = 10
	maxRenewals = 3
)

// consentOf is the text of the registration that a pool lets a claim replace. Only who writes the pool can say so: the text
// itself is public in the DNS.
func consentOf(pool *yubav1.SubdomainPool, c *yubav1.SubdomainClaim) string {
	parts := strings.SplitN(pool.Annotations[yubav1.AnnotationTakeOver], " ", 3)
	if len(parts) != 3 || parts[0] != c.Namespace+"/"+c.Name || parts[1] != string(c.UID) {
		return ""
	}
	return strings.TrimSpace(parts[2])
}

// living reports whether a registration's owner is another claim of this API than its own. It asks the API itself.
func (r *Reconciler) living(ctx context.Context, uid string, own types.UID) (bool, error) {
	if uid == string(own) { // a copy in another home
		return false, nil
	}
	var claims yubav1.SubdomainClaimList
	if err := r.Direct.List(ctx, &claims); err != nil {
		return false, fmt.Errorf("look whether the claim that has the name exists: %w", err)
	}
	for i := range claims.Items {
		if uid != "" && string(claims.Items[i].UID) == uid {
			return true, nil
		}
	}
	return false, nil
}

// above reads the registrations of the names above the claimed one, up to the zone: the bids first, as for the name itself.
func (t *taking) above(ctx context.Context) (all []decide.RRset, err error) {
	name := t.domain
	for name != t.place.Zone {
		_, parent, found := strings.Cut(name, ".")
		if !found || !within(parent, t.place.Zone) {
			break
		}
		name = parent
		bids, err := t.server.Below(ctx, decide.BidsOf(name))
		if err != nil {
			return nil, err
		}
		registration, err := t.server.RRsets(ctx, t.place.Zone, decide.RegistrationOf(name))
		if err != nil {
			return nil, err
		}
		all = append(append(all, seen(bids, "")...), seen(registration, "")...)
	}
	return all, nil
}

// allowed checks that a claim that does not have a name yet is not one too many of its namespace. The older ones come first.
func allowed(c *yubav1.SubdomainClaim, pool *yubav1.SubdomainPool, claims []yubav1.SubdomainClaim) error {
	limit := int(pool.Spec.MaxClaimsPerNamespace)
	if limit == 0 {
		limit = maxClaims
	}
	if c.Namespace == pool.Namespace {
		return nil
	}
	first := 0
	for i := range claims {
		o := &claims[i]
		has := o.Status.Phase == yubav1.SubdomainReserved || o.Status.Phase == yubav1.SubdomainCommitted
		older := o.CreationTimestamp.Before(&c.CreationTimestamp) || o.CreationTimestamp.Equal(&c.CreationTimestamp) && o.UID < c.UID
		if o.Namespace == c.Namespace && o.UID != c.UID && (has || older && o.Status.Phase != yubav1.SubdomainExpired) {
			first++
		}
	}
	if first >= limit {
		return problemf(yubav1.ReasonClaimPool, true, "the namespace %s has %d claims of the SubdomainPool %s, and spec.maxClaimsPerNamespace of the pool is %d. Release one that is not needed, or ask the pool's owner for more",
			c.Namespace, first, client.ObjectKeyFromObject(pool), limit)
	}
	return nil
}
