// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// world is what the inbox is made from: objects that the person may list.
type world struct {
	stacks         []*infrav1.Terraform
	kustomizations []*kustomizev1.Kustomization
	registries     []*tenantv1.TenantRegistry
	circuits       []*yubav1.CircuitBreaker
	now, seen      time.Time
}

func (p *pages) gather(r *site.Request) (*world, error) {
	w := &world{now: r.Now, seen: seenAt(r)}
	var err error
	if w.stacks, err = p.finder.Visible(r); err != nil {
		return nil, err
	}
	if w.kustomizations, err = listed(p, r, watched.Kustomizations); err != nil {
		return nil, err
	}
	if w.registries, err = listed(p, r, watched.Registries); err != nil {
		return nil, err
	}
	w.circuits, err = listed(p, r, watched.Circuits)
	return w, err
}

// listed returns the watched objects of a kind that the person may list. What this server does not watch
// is the business of others, such as Flux, who hold nothing back for a decision here.
func listed[T any](p *pages, r *site.Request, k watched.Kind[T]) ([]*T, error) {
	if watches, err := p.objects.Watches(r.Context(), k); err != nil || !watches {
		return nil, err
	}
	found, err := watched.List(r, p.objects, k)
	return found.Items, err
}

// topics are the kinds whose changes concern the inbox.
func (p *pages) topics(r *site.Request) []live.Topic {
	return append(p.objects.Topics(r.Context(), watched.Kustomizations, watched.Registries, watched.Circuits), live.Topic{Kind: &infrav1.Terraform{}})
}
