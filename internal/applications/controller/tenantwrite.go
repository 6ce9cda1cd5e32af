// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/namespaces"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// stale is the quota of a tenant that has none any more; nil for none.
func (p *pass) stale() *metav1.PartialObjectMetadata {
	if p.tenant.wanted.ResourceQuota() != nil {
		return nil
	}
	m, _ := p.parts.Get(owned.ID{GroupKind: namespaces.QuotaKind.GroupKind(), Namespace: p.tenant.wanted.Namespace(), Name: appv1.TenantQuota})
	if m == nil {
		return nil
	}
	return metadataOf(m, namespaces.QuotaKind)
}

// left is what a pass left of an object.
type left struct {
	digest string
	print  owned.Print
}

// partAsLeft reports whether an object of a tenant is as it should be. After a restart, the annotation of a
// namespace or quota is the proof: the tenant's users cannot write these. The others are applied once more.
func (a *Applications) partAsLeft(key Key, u *unstructured.Unstructured, digest string) bool {
	id := owned.IDOf(u)
	if l, ok := a.memory.get(key).parts[id]; ok {
		return l.digest == digest && a.parts.AsLeft(id, l.print)
	}
	now, _ := a.parts.Get(id)
	proof := id.GroupKind == namespaces.NamespaceKind.GroupKind() || id.GroupKind == namespaces.QuotaKind.GroupKind()
	if now == nil || !proof || now.Annotations[appv1.AnnotationMade] != digest {
		return false
	}
	a.leavePart(key, id, left{digest, owned.PrintOf(now)})
	return true
}

func (a *Applications) leavePart(key Key, id owned.ID, l left) {
	a.memory.change(key, func(m *memo) {
		parts := maps.Clone(m.parts)
		if parts == nil {
			parts = map[owned.ID]left{}
		}
		parts[id] = l
		m.parts = parts
	})
}

// writeTenant keeps the instance, and writes what it has.
func (p *pass) writeTenant(ctx context.Context, d decide.Decision) (decide.Decision, error) {
	if !p.facts.Kept {
		if err := p.keep(ctx); err != nil {
			return d, err
		}
	}
	t := p.tenant.wanted
	at := t.Namespace()
	before := p.tenants.put(at, tenant{p.key, t.Grant, p.versionOf(at)})
	// What the tenant gets, its parent has no more, before the tenant has it.
	err := p.balance(ctx, t.Parent)
	if err == nil {
		err = p.writeParts(ctx)
	}
	if err == nil {
		p.granted(before)
		return decide.Instance(p.facts), nil
	}
	if !p.tenant.recorded {
		p.tenants.put(at, before)
	}
	var conflict *engine.ConflictError
	switch {
	case errors.As(err, &conflict):
		p.facts.Holder = fmt.Sprintf("the namespace %s belongs to %s. Choose another name for the tenant", at, conflict.Holder)
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err):
		// A quota may leave no room for what belongs to a tenant itself.
		p.facts.Invalid = "The API refuses what belongs to the tenant: " + err.Error()
	default:
		return d, fmt.Errorf("write the namespace of %s: %w", p.key, err)
	}
	p.again = troubleAfter
	return decide.Instance(p.facts), p.balance(ctx, t.Parent)
}

// granted says how the tenant is now, because an object that was as it should be sends no event, and tells
// the neighbours what is new.
func (p *pass) granted(before tenant) {
	t, f := p.tenant.wanted, &p.facts
	f.Kept, p.tenant.namespace = true, t.Namespace()
	f.Object = &decide.Object{Current: true, Destroys: true, Observed: true, Ready: string(metav1.ConditionTrue), Applied: true}
	p.live = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace()}}
	p.live.SetGroupVersionKind(namespaces.NamespaceKind)
	if t.Grant.Same(before.grant) {
		return
	}
	p.wakeChildren(p.key.Kind, t.Namespace())
	if before.grant != nil {
		for _, key := range p.tenants.waitingIn(t.Parent) {
			if key != p.key {
				p.instanceQueue.Add(key, 0)
			}
		}
	}
}

func (p *pass) versionOf(namespace string) string {
	if m, _ := p.parts.Get(namespaceID(namespace)); m != nil {
		return m.ResourceVersion
	}
	return ""
}

// writeParts writes the namespace, and then what is in it.
func (p *pass) writeParts(ctx context.Context) error {
	t := p.tenant.wanted
	for i, u := range p.tenant.objects {
		written, err := p.writePart(ctx, p.key, u, i > 0 || t.Namespace() == t.Parent)
		if err != nil {
			return err
		}
		if i == 0 {
			p.tenant.recorded = true
			p.tenants.put(t.Namespace(), tenant{p.key, t.Grant, written.GetResourceVersion()})
			if err := p.relax(ctx); err != nil {
				return fmt.Errorf("delete the quota: %w", err)
			}
		}
	}
	return nil
}

// relax deletes the quota of a tenant that has none any more, before it keeps something out.
func (p *pass) relax(ctx context.Context) error {
	stale := p.stale()
	if stale == nil {
		return nil
	}
	err := p.Client.Delete(ctx, stale, client.Preconditions{UID: &stale.UID})
	return client.IgnoreNotFound(err)
}

// writePart writes an object of a tenant. What is in its namespace is the tenant's, whoever made it.
func (a *Applications) writePart(ctx context.Context, key Key, u *unstructured.Unstructured, inside bool) (*unstructured.Unstructured, error) {
	digest := u.GetAnnotations()[appv1.AnnotationMade]
	if a.partAsLeft(key, u, digest) {
		if m, _ := a.parts.Get(owned.IDOf(u)); m != nil {
			return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": m.ResourceVersion}}}, nil
		}
	}
	live, _ := a.parts.Get(owned.IDOf(u))
	if live != nil {
		live = metadataOf(live, u.GroupVersionKind())
	}
	write := engine.Write{Manifest: u, Ownership: tenancy{inside}, Live: live, Force: inside || live != nil}
	written, err := a.writeFixed(ctx, a.cluster, write, inside)
	if err != nil {
		return nil, err
	}
	a.leavePart(key, owned.IDOf(u), left{digest, owned.PrintOf(written)})
	return written, nil
}

// balance brings the quota of a namespace to what its tenants leave it.
func (p *pass) balance(ctx context.Context, namespace string) error {
	one, ok := p.tenants.in(namespace)
	if !ok || one.key == p.key || one.grant == nil {
		return nil
	}
	prefix, root, known := p.treeOf(one.key.Kind)
	if !known {
		return nil
	}
	t := &namespaces.Tenant{Tree: namespaces.Tree{Root: root, Prefix: prefix}, Kind: one.key.Kind, Parent: one.key.Namespace, Name: one.key.Name,
		Grant: one.grant, Children: p.tenants.childrenOf(namespace)}
	quota := t.ResourceQuota()
	if quota == nil {
		return nil
	}
	if _, err := seal(quota); err != nil {
		return err
	}
	if _, err := p.writePart(ctx, one.key, quota, true); err != nil {
		return fmt.Errorf("write the quota of %s: %w", namespace, err)
	}
	return nil
}

func (p *pass) treeOf(kind string) (prefix, root string, ok bool) {
	k, ok := p.book.get(kind)
	if !ok || k.parsed == nil || k.parsed.Tenant == nil {
		return "", "", false
	}
	prefix, root = k.parsed.Tenant.Begin()
	return prefix, root, true
}

// giveBack gives back what a released tenant had.
func (p *pass) giveBack(ctx context.Context) error {
	p.tenants.wait(p.key, false)
	if p.kind.backend != appv1.BackendTenant {
		return nil
	}
	if err := p.balance(ctx, p.key.Namespace); err != nil {
		return err
	}
	p.wakeWaiting(p.key.Namespace)
	return nil
}

// tenancy implements engine.Ownership for the objects of a tenant, which its labels mark.
type tenancy struct{ inside bool }

// Standing implements engine.Ownership.
func (tenancy) Standing(live, manifest metav1.Object) engine.Standing {
	is, ok := tenantOf(live)
	wanted, _ := tenantOf(manifest)
	mine := ok && is == wanted
	return engine.Standing{Mine: mine, Marked: mine}
}

// Rival implements engine.Ownership.
func (t tenancy) Rival(live, _ metav1.Object, _ bool) engine.Rival {
	if t.inside {
		return engine.Rival{}
	}
	if is, ok := tenantOf(live); ok {
		return engine.Rival{Name: fmt.Sprintf("%s %s in %s", is.Kind, is.Name, is.Namespace), Firm: true}
	}
	return engine.Rival{Name: "somebody else: it existed before the tenant, without its labels", Firm: true}
}

// Adopt implements engine.Ownership.
func (tenancy) Adopt(live, manifest metav1.Object) map[string]any {
	return map[string]any{"metadata": map[string]any{"uid": live.GetUID(), "labels": manifest.GetLabels()}}
}

// References implements engine.Ownership.
func (tenancy) References(live, _ metav1.Object) []metav1.OwnerReference {
	return slices.Clone(live.GetOwnerReferences())
}
