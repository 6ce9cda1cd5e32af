// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/platform/decide"
)

// holder says why a platform does not have its DNS name; empty if it has. until is when that may change by itself.
func (r *Reconciler) holder(ctx context.Context, p *yubav1.Platform) (refusal string, until time.Time, err error) {
	var list yubav1.PlatformList
	if err := r.Client.List(ctx, &list, client.MatchingFields{indexDomain: p.Spec.Domain.FQDN}); err != nil {
		return "", until, fmt.Errorf("list the platforms of %s: %w", p.Spec.Domain.FQDN, err)
	}
	refusal, until, err = r.among(ctx, p, list.Items)
	if err != nil || refusal != "" || hasName(p) || moving.Held(p) != "" {
		return refusal, until, err
	}
	return r.acquire(ctx, p)
}

// acquire records that the platform has its DNS name, before anything is made with it. Passes run at the same time, and the
// cache may lack what another one has just recorded: so it asks the API itself, and one pass after the other does so.
func (r *Reconciler) acquire(ctx context.Context, p *yubav1.Platform) (refusal string, until time.Time, err error) {
	r.acquiring.Lock()
	defer r.acquiring.Unlock()
	var list yubav1.PlatformList
	if err := r.Direct.List(ctx, &list); err != nil {
		return "", until, fmt.Errorf("list the platforms of %s: %w", p.Spec.Domain.FQDN, err)
	}
	rivals := slices.DeleteFunc(list.Items, func(o yubav1.Platform) bool { return o.Spec.Domain.FQDN != p.Spec.Domain.FQDN })
	if refusal, until, err = r.among(ctx, p, rivals); err != nil || refusal != "" {
		return refusal, until, err
	}
	before := p.DeepCopy()
	recordHolding(p, "")
	if err := reconciling.PatchStatus(ctx, r.Client, before, p); err != nil {
		return "", until, fmt.Errorf("record that the platform %s has the DNS name %s: %w", p.Name, p.Spec.Domain.FQDN, err)
	}
	return "", until, nil
}

// among says why a platform does not have its DNS name among all that want it.
func (r *Reconciler) among(ctx context.Context, p *yubav1.Platform, platforms []yubav1.Platform) (refusal string, until time.Time, err error) {
	if len(platforms) < 2 {
		return "", until, nil
	}
	claimed, pool, err := r.claimed(ctx, p.Spec.Domain.FQDN)
	if err != nil {
		return "", until, err
	}
	var all []decide.Contender
	for i := range platforms {
		c := contenderOf(&platforms[i])
		c.Claimed, c.Proof = claimed[platforms[i].Namespace], pool
		all = append(all, c)
	}
	h := decide.HolderOf(r.Now(), all)
	namespace, name, _ := strings.Cut(h.Holder, "/")
	switch {
	case h.Holder == "" || h.Holder == keyOf(p):
		return "", h.Until, nil
	case namespace != p.Namespace: // whose names are not for everybody
		return h.Refusal("A platform of another namespace"), h.Until, nil
	}
	return h.Refusal("The platform " + name), h.Until, nil
}

func keyOf(p *yubav1.Platform) string { return p.Namespace + "/" + p.Name }

// hasName reports whether the server has recorded that the platform has its DNS name.
func hasName(p *yubav1.Platform) bool {
	return conditions.Of(p, yubav1.ConditionDomainHeld).Status == metav1.ConditionTrue
}

// contenderOf is what the server knows about a platform's right to its name. Only servers write statuses.
func contenderOf(p *yubav1.Platform) decide.Contender {
	ready := conditions.Of(p, infrav1.ConditionReady).Reason
	c := decide.Contender{Key: keyOf(p), Created: p.CreationTimestamp.Time, Gone: p.Spec.Decommission && ready == yubav1.ReasonPlatformDecommissioned}
	switch held := conditions.Of(p, yubav1.ConditionDomainHeld); held.Status {
	case metav1.ConditionTrue:
		c.Had, c.Since = true, held.LastTransitionTime.Time
	case "": // of a server that did not record it
		c.Had = len(p.Status.Phases) > 0 && ready != yubav1.ReasonPlatformDomainTaken
	}
	for i := range p.Status.Phases {
		phase := &p.Status.Phases[i]
		// The phase preflight makes nothing.
		c.Begun = c.Begun || phase.Phase != yubav1.PhasePreflight && phase.StartedAt != nil
	}
	c.Begun = c.Begun || len(p.Status.Remaining) > 0
	return c
}

// recordHolding records whether the platform has its DNS name: the next decisions rely on that, and on no other condition,
// which a blueprint could choose.
func recordHolding(p *yubav1.Platform, refusal string) {
	if refusal != "" {
		conditions.Set(p, yubav1.ConditionDomainHeld, metav1.ConditionFalse, yubav1.ReasonPlatformDomainTaken, infrav1.TrimMessage(refusal))
		return
	}
	if moving.Held(p) != "" {
		return // another home knows
	}
	conditions.Set(p, yubav1.ConditionDomainHeld, metav1.ConditionTrue, yubav1.ReasonPlatformDomainHeld, "The platform has the DNS name "+p.Spec.Domain.FQDN)
}

// claimed are the namespaces with a committed claim of a domain, one at most, and when the claim's pool was created. Everybody
// can make a pool of any domain, with a server of their own: only claims of the pool that the name belongs to count.
func (r *Reconciler) claimed(ctx context.Context, fqdn string) (namespaces map[string]bool, since time.Time, err error) {
	var claims yubav1.SubdomainClaimList
	if err := r.Client.List(ctx, &claims, client.MatchingFields{indexClaim: fqdn}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, since, fmt.Errorf("list the claims of %s: %w", fqdn, err)
	}
	if len(claims.Items) == 0 {
		return nil, since, nil
	}
	var pools yubav1.SubdomainPoolList
	if err := r.Client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, since, fmt.Errorf("list the pools of %s: %w", fqdn, err)
	}
	pool := poolOf(fqdn, pools.Items)
	if pool == nil {
		return nil, since, nil
	}
	namespaces = map[string]bool{}
	for i := range claims.Items {
		c := &claims.Items[i]
		if client.ObjectKeyFromObject(pool) == (types.NamespacedName{Namespace: cmp.Or(c.Spec.PoolRef.Namespace, c.Namespace), Name: c.Spec.PoolRef.Name}) {
			namespaces[c.Namespace] = true
		}
	}
	return namespaces, pool.CreationTimestamp.Time, nil
}

// poolOf is the pool that a name belongs to: the oldest of a domain above it, or of the name itself; nil for none.
func poolOf(fqdn string, pools []yubav1.SubdomainPool) (oldest *yubav1.SubdomainPool) {
	for i := range pools {
		p := &pools[i]
		if fqdn != p.Spec.Domain && !strings.HasSuffix(fqdn, "."+p.Spec.Domain) {
			continue
		}
		if oldest == nil || cmp.Or(p.CreationTimestamp.Compare(oldest.CreationTimestamp.Time), cmp.Compare(p.Namespace+"/"+p.Name, oldest.Namespace+"/"+oldest.Name)) < 0 {
			oldest = p
		}
	}
	return oldest
}

// claimedDomain is the index of committed claims.
func claimedDomain(o client.Object) []string {
	c := o.(*yubav1.SubdomainClaim) //nolint:forcetypeassert // of the kind that is indexed
	if c.Status.Phase != yubav1.SubdomainCommitted || !c.DeletionTimestamp.IsZero() {
		return nil
	}
	return []string{c.Status.Domain}
}

// ofClaim are the platforms whose name was claimed, or is not any more.
func (r *Reconciler) ofClaim(ctx context.Context, o client.Object) []reconcile.Request {
	c := o.(*yubav1.SubdomainClaim) //nolint:forcetypeassert // of the kind that is watched
	if c.Status.Domain == "" {
		return nil
	}
	return reconciling.Find(ctx, r.Client, r.Log, &yubav1.PlatformList{}, indexDomain, c.Status.Domain)
}

// claims passes claims that get or lose their name.
func claims() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*yubav1.SubdomainClaim), e.ObjectNew.(*yubav1.SubdomainClaim) //nolint:forcetypeassert // of the kind that is watched
		return was.Status.Phase != is.Status.Phase || was.Status.Domain != is.Status.Domain || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	}}
}
