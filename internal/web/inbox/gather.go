// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
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
	// away says which objects cannot be read now. What the person may not list is left out.
	away []string
}

func (p *pages) gather(r *site.Request) (*world, error) {
	w := &world{now: r.Now, seen: seenAt(r)}
	var err error
	if w.stacks, err = p.finder.Visible(r); err != nil {
		return nil, err
	}
	w.kustomizations = listed(p, r, w, watched.Kustomizations)
	w.registries = listed(p, r, w, watched.Registries)
	w.circuits = listed(p, r, w, watched.Circuits)
	return w, r.Context().Err()
}

// listed returns the watched objects of a kind that the person may list. Plans are shown without them,
// too. What this server does not watch is the business of others, such as Flux, who hold nothing back
// for a decision here.
func listed[T any](p *pages, r *site.Request, w *world, k watched.Kind[T]) []*T {
	if watches, err := p.objects.Watches(r.Context(), k); err == nil && !watches {
		return nil
	}
	found, err := watched.List(r, p.objects, k)
	switch {
	case err != nil:
		w.away = append(w.away, "The server cannot read "+k.Resource+" now: "+diagnostic.Printable(err.Error())+".")
	case found.Away:
		w.away = append(w.away, found.Missing)
	}
	return found.Items
}
