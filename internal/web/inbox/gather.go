// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"fmt"
	"sync"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// world is what the inbox is made from: objects that the person may list.
type world struct {
	stacks         []*infrav1.Terraform
	kustomizations []kustomizev1.Kustomization
	registries     []tenantv1.TenantRegistry
	circuits       []yubav1.CircuitBreaker
	now, seen      time.Time
}

// other is a kind besides stacks. A cluster may lack it.
type other struct {
	group, kind, version, resource string
	empty                          client.Object
}

var others = []other{
	{kustomizev1.GroupVersion.Group, "Kustomization", kustomizev1.GroupVersion.Version, "kustomizations", &kustomizev1.Kustomization{}},
	{tenantv1.GroupVersion.Group, "TenantRegistry", tenantv1.GroupVersion.Version, "tenantregistries", &tenantv1.TenantRegistry{}},
	{yubav1.GroupVersion.Group, yubav1.CircuitBreakerKind, yubav1.GroupVersion.Version, "circuitbreakers", &yubav1.CircuitBreaker{}},
}

func (p *pages) gather(r *site.Request) (*world, error) {
	w := &world{now: r.Now, seen: seenAt(r)}
	var err error
	if w.stacks, err = p.finder.Visible(r); err != nil {
		return nil, err
	}
	if w.kustomizations, err = listed(p, r, others[0], &kustomizev1.KustomizationList{}, func(l *kustomizev1.KustomizationList) []kustomizev1.Kustomization { return l.Items }); err != nil {
		return nil, err
	}
	if w.registries, err = listed(p, r, others[1], &tenantv1.TenantRegistryList{}, func(l *tenantv1.TenantRegistryList) []tenantv1.TenantRegistry { return l.Items }); err != nil {
		return nil, err
	}
	w.circuits, err = listed(p, r, others[2], &yubav1.CircuitBreakerList{}, func(l *yubav1.CircuitBreakerList) []yubav1.CircuitBreaker { return l.Items })
	return w, err
}

// listed returns the watched objects of a kind that the person may list; none if the API lacks it.
func listed[L client.ObjectList, T any](p *pages, r *site.Request, o other, list L, items func(L) []T) ([]T, error) {
	if !p.kinds.served(r, o) {
		return nil, nil
	}
	scope, err := r.Scope(o.group, o.resource)
	if err != nil || scope.Nothing() {
		return nil, err
	}
	if err := p.watched.List(r.Context(), list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list %s: %w", o.resource, err)
	}
	var all []T
	for _, item := range items(list) {
		if object, ok := any(&item).(client.Object); ok && (scope.Everywhere() || scope.Has(object.GetNamespace())) {
			all = append(all, item)
		}
	}
	return all, nil
}

// absentFor is how long a kind that the API does not serve is not asked for again.
const absentFor = time.Minute

// kinds remembers which kinds the API serves.
type kinds struct {
	mu     sync.Mutex
	known  map[string]bool
	absent map[string]time.Time
}

func (k *kinds) served(r *site.Request, o other) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known, k.absent = map[string]bool{}, map[string]time.Time{}
	}
	if k.known[o.kind] || r.Now.Before(k.absent[o.kind]) {
		return k.known[o.kind]
	}
	_, err := r.As.Objects.RESTMapper().RESTMapping(schema.GroupKind{Group: o.group, Kind: o.kind}, o.version)
	switch {
	case err == nil:
		k.known[o.kind] = true
	case meta.IsNoMatchError(err):
		k.absent[o.kind] = r.Now.Add(absentFor)
	}
	return k.known[o.kind]
}

// topics are the kinds whose changes concern the inbox.
func (k *kinds) topics(r *site.Request) []live.Topic {
	topics := []live.Topic{{Kind: &infrav1.Terraform{}}}
	for _, o := range others {
		if k.served(r, o) {
			topics = append(topics, live.Topic{Kind: o.empty})
		}
	}
	return topics
}
