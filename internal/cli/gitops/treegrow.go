// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// forest lists objects when trees need them, each kind of each namespace once.
type forest struct {
	*session.Session
	compact bool
	read    map[listKey]map[types.NamespacedName]*session.Object
}

type listKey struct {
	kind      schema.GroupVersionKind
	namespace string
}

// list lists the objects of a kind in a namespace: none if it is not served or forbidden.
func (f *forest) list(ctx context.Context, k session.Kind, namespace string) (map[types.NamespacedName]*session.Object, error) {
	at := listKey{k.GVK, namespace}
	if known, ok := f.read[at]; ok {
		return known, nil
	}
	objects, _, err := f.ListObjects(ctx, k, namespace)
	var unserved *session.UnservedError
	switch {
	case apierrors.IsForbidden(err):
		f.News("Omitted %s of namespace %s: %v", k.People(), namespace, err)
	case err != nil && !errors.As(err, &unserved):
		return nil, err
	}
	found := map[types.NamespacedName]*session.Object{}
	for _, o := range objects {
		found[o.Key()] = o
	}
	f.read[at] = found
	return found, nil
}

func (f *forest) find(ctx context.Context, k session.Kind, key types.NamespacedName) (*session.Object, error) {
	found, err := f.list(ctx, k, key.Namespace)
	if err != nil {
		return nil, err
	}
	return found[key], nil
}

func (f *forest) below(ctx context.Context, k session.Kind, key types.NamespacedName) ([]*treeNode, error) {
	o, err := f.GetObject(ctx, k, key)
	if err != nil {
		return nil, err
	}
	n, err := f.grown(ctx, o, map[string]bool{})
	return []*treeNode{n}, err
}

// grown is the node of an object, with the nodes below it.
func (f *forest) grown(ctx context.Context, o *session.Object, seen map[string]bool) (*treeNode, error) {
	n, err := f.node(ctx, o)
	if err != nil {
		return nil, err
	}
	return n, f.grow(ctx, n, o, seen)
}

// wayTo is the path from a root to one object.
func (f *forest) wayTo(ctx context.Context, k session.Kind, key types.NamespacedName) ([]*treeNode, error) {
	o, err := f.GetObject(ctx, k, key)
	if err != nil {
		return nil, err
	}
	n, err := f.node(ctx, o)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{o.String(): true}
	for {
		owner, err := f.owner(ctx, o)
		if err != nil {
			return nil, err
		}
		if owner == nil || seen[owner.String()] {
			return []*treeNode{n}, nil
		}
		seen[owner.String()] = true
		above, err := f.node(ctx, owner)
		if err != nil {
			return nil, err
		}
		above.Children = []*treeNode{n}
		n, o = above, owner
	}
}

// owner is an object's Kustomization, Tenant, TenantTemplate or TenantRegistry; nil for none.
func (f *forest) owner(ctx context.Context, o *session.Object) (*session.Object, error) {
	key := session.OwnerOf(o)
	if key.Name == "" {
		if key = session.TenantOf(o); key.Name == "" {
			return f.madeFrom(ctx, o)
		}
		return f.find(ctx, session.Tenants, key)
	}
	owner, err := f.find(ctx, session.Kustomizations, key)
	if owner != nil && owner.String() == o.String() {
		return nil, err // it applies itself, as the first one of a repository may
	}
	return owner, err
}

// namespace has the trees of all objects in a namespace that nothing else there applied.
func (f *forest) namespace(ctx context.Context, namespace string) ([]*treeNode, error) {
	seen := map[string]bool{}
	roots, err := f.roots(ctx, session.Kustomizations, namespace, func(o *session.Object) (bool, error) {
		// An object that another namespace applied is a root here, too.
		owner, err := f.owner(ctx, o)
		return owner == nil || owner.GetNamespace() != namespace, err
	}, seen)
	for _, k := range session.AllKinds {
		if err != nil {
			return nil, err
		}
		var more []*treeNode
		// All objects in none of those trees, such as Kustomizations that apply each other.
		more, err = f.roots(ctx, k, namespace, func(*session.Object) (bool, error) { return true, nil }, seen)
		roots = append(roots, more...)
	}
	return roots, err
}

// roots grows the trees of the wanted objects of a kind that no other tree contains.
func (f *forest) roots(ctx context.Context, k session.Kind, namespace string, wanted func(*session.Object) (bool, error), seen map[string]bool) ([]*treeNode, error) {
	found, err := f.list(ctx, k, namespace)
	if err != nil {
		return nil, err
	}
	var roots []*treeNode
	for _, o := range inOrder(found) {
		ok, err := wanted(o)
		if err != nil {
			return nil, err
		}
		if !ok || seen[o.String()] {
			continue
		}
		n, err := f.grown(ctx, o, seen)
		if err != nil {
			return nil, err
		}
		roots = append(roots, n)
	}
	return roots, nil
}

func inOrder(found map[types.NamespacedName]*session.Object) []*session.Object {
	return slices.SortedFunc(maps.Values(found), func(a, b *session.Object) int { return cmp.Compare(a.String(), b.String()) })
}

// grow adds the objects that an object applied. seen ends cycles of Kustomizations.
func (f *forest) grow(ctx context.Context, n *treeNode, o *session.Object, seen map[string]bool) error {
	if seen[o.String()] {
		return nil
	}
	seen[o.String()] = true
	if o.Kind.GVK.Group == tenantv1.GroupVersion.Group {
		return f.growTenants(ctx, n, o, seen)
	}
	if o.Kind.GVK != session.Kustomizations.GVK || o.Status.Inventory == nil {
		return nil
	}
	// Objects of another cluster are not read.
	remote := o.Spec.KubeConfig != nil
	for _, entry := range o.Status.Inventory.Entries {
		child, k, ok := inventoryNode(entry.ID)
		if !ok || f.compact && k.Plural == "" || child.String() == n.String() {
			continue
		}
		if k.Plural != "" && !remote {
			var err error
			if child, err = f.known(ctx, child, k, seen); err != nil {
				return err
			}
		}
		n.Children = append(n.Children, child)
	}
	return nil
}

// known is the node of an object of a known kind, with the nodes below it.
func (f *forest) known(ctx context.Context, child *treeNode, k session.Kind, seen map[string]bool) (*treeNode, error) {
	o, err := f.find(ctx, k, types.NamespacedName{Namespace: child.Namespace, Name: child.Name})
	if err != nil || o == nil {
		child.Missing = true
		return child, err
	}
	return f.grown(ctx, o, seen)
}

// inventoryNode is the node of an entry of an inventory, and its kind if commands know it.
func inventoryNode(entry string) (*treeNode, session.Kind, bool) {
	id, err := object.ParseObjMetadata(entry)
	k, _ := session.KindOf(id.GroupKind)
	return &treeNode{Kind: id.GroupKind.Kind, Group: id.GroupKind.Group, Namespace: id.Namespace, Name: id.Name}, k, err == nil && id.Name != "" && id.GroupKind.Kind != ""
}

func (f *forest) node(ctx context.Context, o *session.Object) (*treeNode, error) {
	n := bareNode(o)
	n.Path = o.Spec.Path
	if o.Kind.GVK == session.StackKind {
		n.Revision = cmp.Or(o.Status.LastAppliedRevision, o.Status.LastAttemptedRevision)
		if o.Spec.Outputs != nil {
			n.Outputs = o.Spec.Outputs.Name
		}
	}
	if o.Spec.SourceRef == nil {
		return n, nil
	}
	key := o.SourceKey()
	n.Source = &treeNode{Kind: o.Spec.SourceRef.Kind, Namespace: key.Namespace, Name: key.Name}
	k, ok := session.KindNamed(o.Spec.SourceRef.Kind)
	if !ok {
		return n, nil
	}
	n.Source.Group = k.GVK.Group
	source, err := f.find(ctx, k, key)
	if source == nil {
		n.Source.Missing = true
		return n, err
	}
	n.Source = bareNode(source)
	return n, nil
}

// bareNode describes an object without its source.
func bareNode(o *session.Object) *treeNode {
	n := &treeNode{Kind: o.Kind.GVK.Kind, Group: o.Kind.GVK.Group, Namespace: o.GetNamespace(), Name: o.GetName(),
		Ready: string(o.Ready().Status), Suspended: o.Spec.Suspend, Revision: o.Revision()}
	if n.Ready != string(metav1.ConditionTrue) {
		n.Message = o.Message()
	}
	return n
}
