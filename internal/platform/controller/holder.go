// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
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
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/platform/decide"
)

// holder says why a platform does not have its DNS name; empty if it has. until is when that may change by itself.
func (r *Reconciler) holder(ctx context.Context, p *yubav1.Platform) (refusal string, until time.Time, err error) {
	var list yubav1.PlatformList
	if err := r.Client.List(ctx, &list, client.MatchingFields{indexDomain: p.Spec.Domain.FQDN}); err != nil {
		return "", until, fmt.Errorf("list the platforms of %s: %w", p.Spec.Domain.FQDN, err)
	}
	if len(list.Items) < 2 {
		return "", until, nil
	}
	claimed, err := r.claimed(ctx, p.Spec.Domain.FQDN)
	if err != nil {
		return "", until, err
	}
	var all []decide.Contender
	for i := range list.Items {
		all = append(all, contenderOf(&list.Items[i], claimed))
	}
	h := decide.HolderOf(r.Now(), all)
	holder, err := types.NamespacedName{}, error(nil)
	for i := range list.Items {
		if o := &list.Items[i]; keyOf(o) == h.Holder {
			holder = client.ObjectKeyFromObject(o)
		}
	}
	switch {
	case h.Holder == "" || h.Holder == keyOf(p):
		return "", h.Until, err
	case holder.Namespace != p.Namespace: // whose names are not for everybody
		return h.Refusal("A platform of another namespace"), h.Until, err
	}
	return h.Refusal("The platform " + holder.Name), h.Until, err
}

func keyOf(p *yubav1.Platform) string { return p.Namespace + "/" + p.Name }

// contenderOf is what a platform's object says about its right to its name.
func contenderOf(p *yubav1.Platform, claimed map[string]bool) decide.Contender {
	ready := conditions.Of(p, infrav1.ConditionReady).Reason
	c := decide.Contender{Key: keyOf(p), Created: p.CreationTimestamp.Time, Claimed: claimed[p.Namespace],
		Resolves: conditions.Of(p, yubav1.ConditionRecordsPresent).Status == metav1.ConditionTrue,
		Gone:     p.Spec.Decommission && ready == yubav1.ReasonPlatformDecommissioned,
		Had:      len(p.Status.Phases) > 0 && ready != yubav1.ReasonPlatformDomainTaken}
	for i := range p.Status.Phases {
		phase := &p.Status.Phases[i]
		// The phase preflight makes nothing.
		c.Begun = c.Begun || phase.Phase != yubav1.PhasePreflight && phase.StartedAt != nil
		c.Resolves = c.Resolves || phase.Phase == yubav1.PhaseDNS && phase.State == yubav1.PhaseReady
	}
	c.Begun = c.Begun || len(p.Status.Remaining) > 0
	return c
}

// claimed are the namespaces with a committed claim of a domain: one at most, unless pools are of several servers.
func (r *Reconciler) claimed(ctx context.Context, fqdn string) (map[string]bool, error) {
	var claims yubav1.SubdomainClaimList
	if err := r.Client.List(ctx, &claims, client.MatchingFields{indexClaim: fqdn}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the claims of %s: %w", fqdn, err)
	}
	namespaces := map[string]bool{}
	for i := range claims.Items {
		namespaces[claims.Items[i].Namespace] = true
	}
	return namespaces, nil
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
