// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/namespaces"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// counting is when a quota is looked at again that nobody has counted yet.
const counting = 10 * behind

// tenantPass is what a pass over a tenant knows besides its facts.
type tenantPass struct {
	// namespace is the tenant's; empty for none yet.
	namespace string
	// wanted is the tenant as it should be, and objects what it has then; nil if it was refused.
	wanted  *namespaces.Tenant
	objects []*unstructured.Unstructured
	// recorded: this pass has written the grant to the namespace.
	recorded bool
}

// findTenant finds the namespace of the instance, and what should be in it.
func (p *pass) findTenant(ctx context.Context) error {
	if err := p.parts.Follow(ctx, owner(p.kind.definition), namespaces.Kinds()); err != nil {
		return fmt.Errorf("follow the namespaces of tenants: %w", err)
	}
	p.tenants.sync(p.parts)
	p.tenant.namespace = p.tenants.of(p.key)
	f := &p.facts
	if at := p.tenant.namespace; at != "" {
		if m, _ := p.parts.Get(namespaceID(at)); m != nil {
			p.live = metadataOf(m, namespaces.NamespaceKind)
			f.Object = &decide.Object{Deleting: m.DeletionTimestamp != nil, Destroys: true, Observed: true, Ready: string(metav1.ConditionTrue), Applied: true}
		}
	}
	switch {
	case f.Deleting && (f.Abandon || p.tenant.namespace == p.key.Namespace):
		// It leaves its namespace as it is; the root's is not the instance's.
		f.Object, p.live = nil, nil
	case f.Deleting && f.Object != nil:
		if err := p.content(ctx); err != nil {
			return err
		}
	case !f.Deleting && p.kind.parsed != nil && f.Definition == "":
		// Tenants depend on each other, so none of them follows an earlier revision of the definition.
		p.part.target = true
		if err := p.ask(ctx); err != nil {
			return err
		}
	}
	p.tenants.wait(p.key, f.Blocked+f.Refused+f.Invalid != "")
	return nil
}

// ask finds out whether the instance gets what it asks for, and what it has then.
func (p *pass) ask(ctx context.Context) error {
	i, err := p.instance(ctx)
	if err != nil {
		return err
	}
	d := p.kind.parsed
	prefix, root := d.Tenant.Begin()
	from, err := p.ofPlatform(ctx, root)
	if err != nil {
		return fmt.Errorf("read the values of the platform: %w", err)
	}
	if from.bad != "" {
		p.facts.Refused = sentence(from.bad)
		return nil
	}
	a := &namespaces.Ask{Tree: namespaces.Tree{Root: root, Prefix: prefix}, Name: p.key.Name, Parent: p.key.Namespace,
		Spec: d.Schema.Default(i.Spec), Modules: d.Tenant.Modules, Counts: fmt.Sprintf("count/%s.%s", p.kind.resource, appv1.InstanceVersion.Group)}
	p.neighbours(a, from.above)
	if a.Grows() {
		if ok, err := p.count(ctx, a); err != nil || !ok {
			return err
		}
	}
	grant, refusal := a.Grant()
	switch {
	case refusal != nil && refusal.Wrong:
		p.facts.Invalid = sentence(refusal.Says)
		return nil
	case refusal != nil:
		p.facts.Refused = sentence(refusal.Says)
		return nil
	}
	p.tenant.wanted = &namespaces.Tenant{Tree: a.Tree, Kind: p.key.Kind, Parent: a.Parent, Name: a.Name, Labels: d.Labels, Grant: grant, Children: a.Children,
		Cluster: from.cluster, Foreign: from.foreign && a.IsRoot()}
	if p.tenant.objects, err = p.tenant.wanted.Objects(); err != nil {
		return err
	}
	current := p.stale() == nil
	for _, u := range p.tenant.objects {
		digest, err := seal(u)
		if err != nil {
			return err
		}
		current = current && p.partAsLeft(p.key, u, digest)
	}
	if p.facts.Object != nil {
		p.facts.Object.Current = current
	}
	return nil
}

// neighbours finds the place of the instance in the tree.
func (p *pass) neighbours(a *namespaces.Ask, ofRoot *namespaces.Grant) {
	own := a.Namespace()
	parent, known := p.tenants.in(a.Parent)
	a.Tenant = a.Parent == a.Root || known && parent.key.Kind == p.key.Kind
	a.Above = ofRoot
	if known && !a.IsRoot() {
		a.Above = parent.grant
		m, _ := p.instances.Look(parent.key.id())
		a.Leaving = m != nil && m.DeletionTimestamp != nil
	}
	for at, one := range p.tenants.all() {
		n := namespaces.Neighbour{Name: one.key.Name, Grant: one.grant}
		switch {
		case at == own:
			if one.key == p.key {
				a.Had = one.grant
			}
			continue
		case one.key.Namespace == a.Parent && at != a.Parent && !a.IsRoot():
			a.Siblings = append(a.Siblings, n)
		case one.key.Namespace == own:
			a.Children = append(a.Children, n)
		}
		if one.key.Namespace == a.Parent {
			a.Made++
		}
		if !a.Related(own, at) {
			a.Others = append(a.Others, n)
		}
	}
}

// count finds out what the parent's namespace uses. ok is false if that is not known yet.
func (p *pass) count(ctx context.Context, a *namespaces.Ask) (ok bool, err error) {
	quota := &corev1.ResourceQuota{}
	err = p.Reader.Get(ctx, client.ObjectKey{Namespace: a.Parent, Name: appv1.TenantQuota}, quota)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read what %s uses: %w", a.Parent, err)
	}
	if err != nil || len(quota.Status.Used) < len(quota.Spec.Hard) {
		p.facts.Waits, p.again = fmt.Sprintf("What the parent, %s, uses is being counted.", a.Parent), counting
		return false, nil
	}
	a.Used = namespaces.Quota{}
	for name, amount := range quota.Status.Used {
		a.Used[string(name)] = amount
	}
	return true, nil
}

// content says what is in the namespace of a deleted tenant and must go before it.
func (p *pass) content(ctx context.Context) error {
	at := p.tenant.namespace
	kinds := p.book.all()
	var definitions appv1.ApplicationDefinitionList
	if err := p.Client.List(ctx, &definitions, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the application definitions: %w", err)
	}
	for i := range definitions.Items {
		d := &definitions.Items[i]
		ready := conditions.Of(d, appv1.ConditionReady).Status == metav1.ConditionTrue
		if _, known := kinds[d.Spec.Application.Kind]; !known && (ready || d.Status.Instances > 0) {
			p.facts.Blocked, p.again = fmt.Sprintf("The instances of %s are not known yet.", d.Spec.Application.Kind), counting
			return nil
		}
	}
	var found []string
	for name := range kinds {
		p.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, _ any) {
			if m.Namespace == at {
				found = append(found, name+" "+m.Name)
			}
		})
	}
	var stacks infrav1.TerraformList
	if err := p.Client.List(ctx, &stacks, client.InNamespace(at), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the stacks of %s: %w", at, err)
	}
	for i := range stacks.Items {
		if len(instancesOf(&stacks.Items[i])) == 0 {
			found = append(found, infrav1.Kind+" "+stacks.Items[i].Name)
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		p.facts.Blocked = fmt.Sprintf("The namespace %s has %s. Delete them first; or delete only the tenant, and leave its namespace with all of it: %s",
			at, list(found[:min(named, len(found))], len(found)), p.facts.Abandoning)
	}
	return nil
}
