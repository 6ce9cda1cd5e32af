// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The labels that a Kustomization puts on what it applies.
const (
	labelOwnerName      = "kustomize.toolkit.fluxcd.io/name"
	labelOwnerNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// forest reads objects as trees need them, each kind of each namespace once.
type forest struct {
	*session
	compact bool
	read    map[listing]map[types.NamespacedName]*object
}

// listing is one list of objects.
type listing struct {
	kind      schema.GroupVersionKind
	namespace string
}

// list reads all objects of a kind in a namespace. Kinds that this API lacks, and those that the user may not see, have none.
func (f *forest) list(ctx context.Context, k kind, namespace string) (map[types.NamespacedName]*object, error) {
	at := listing{k.gvk, namespace}
	if known, ok := f.read[at]; ok {
		return known, nil
	}
	objects, _, err := f.listObjects(ctx, k, namespace)
	var unserved *unservedError
	switch {
	case apierrors.IsForbidden(err):
		f.news("The %s of namespace %s are left out: %v", k.people(), namespace, err)
	case err != nil && !errors.As(err, &unserved):
		return nil, err
	}
	found := map[types.NamespacedName]*object{}
	for _, o := range objects {
		found[o.key()] = o
	}
	f.read[at] = found
	return found, nil
}

func (f *forest) find(ctx context.Context, k kind, key types.NamespacedName) (*object, error) {
	found, err := f.list(ctx, k, key.Namespace)
	if err != nil {
		return nil, err
	}
	return found[key], nil
}

// below is the tree of one object.
func (f *forest) below(ctx context.Context, k kind, key types.NamespacedName) ([]*treeNode, error) {
	o, err := f.getObject(ctx, k, key)
	if err != nil {
		return nil, err
	}
	n, err := f.node(ctx, o)
	if err != nil {
		return nil, err
	}
	return []*treeNode{n}, f.grow(ctx, n, o, map[string]bool{})
}

// wayTo is the way from a root to one object, without what stands beside it.
func (f *forest) wayTo(ctx context.Context, k kind, key types.NamespacedName) ([]*treeNode, error) {
	o, err := f.getObject(ctx, k, key)
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

// owner is the Kustomization that applied an object, or the Tenant that has it, or what that was made from; nil when there is
// none.
func (f *forest) owner(ctx context.Context, o *object) (*object, error) {
	key := o.owner()
	if key.Name == "" {
		if key = o.tenant(); key.Name == "" {
			return f.madeFrom(ctx, o)
		}
		return f.find(ctx, tenants, key)
	}
	owner, err := f.find(ctx, kustomizations, key)
	if owner != nil && owner.String() == o.String() {
		return nil, err // it applies itself, as the first one of a repository does
	}
	return owner, err
}

// owner is the Kustomization that an object's labels name.
func (o *object) owner() types.NamespacedName {
	labels := o.GetLabels()
	return types.NamespacedName{Namespace: cmp.Or(labels[labelOwnerNamespace], o.GetNamespace()), Name: labels[labelOwnerName]}
}

// namespace is everything in a namespace that nothing else there has applied, with what came of it.
func (f *forest) namespace(ctx context.Context, namespace string) ([]*treeNode, error) {
	seen := map[string]bool{}
	roots, err := f.roots(ctx, kustomizations, namespace, func(o *object) (bool, error) {
		// What is applied from another namespace has its tree there, and is a root of this one all the same.
		owner, err := f.owner(ctx, o)
		return owner == nil || owner.GetNamespace() != namespace, err
	}, seen)
	for _, k := range allKinds {
		if err != nil {
			return nil, err
		}
		var more []*treeNode
		// What was in none of those trees; Kustomizations that apply each other among it.
		more, err = f.roots(ctx, k, namespace, func(*object) (bool, error) { return true, nil }, seen)
		roots = append(roots, more...)
	}
	return roots, err
}

// roots grows the trees of those objects of a kind that are wanted and have not been seen in another one.
func (f *forest) roots(ctx context.Context, k kind, namespace string, wanted func(*object) (bool, error), seen map[string]bool) ([]*treeNode, error) {
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
		n, err := f.node(ctx, o)
		if err == nil {
			err = f.grow(ctx, n, o, seen)
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, n)
	}
	return roots, nil
}

func inOrder(found map[types.NamespacedName]*object) []*object {
	objects := make([]*object, 0, len(found))
	for _, o := range found {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *object) int { return cmp.Compare(a.String(), b.String()) })
	return objects
}

// grow adds what an object applied. seen keeps Kustomizations that apply each other from growing for ever.
func (f *forest) grow(ctx context.Context, n *treeNode, o *object, seen map[string]bool) error {
	if seen[o.String()] {
		return nil
	}
	seen[o.String()] = true
	if o.kind.gvk.Group == tenantv1.GroupVersion.Group {
		return f.growTenants(ctx, n, o, seen)
	}
	if o.kind.gvk != kustomizations.gvk || o.Status.Inventory == nil {
		return nil
	}
	// What is on another cluster is not looked at here.
	remote := o.Spec.KubeConfig != nil
	for _, entry := range o.Status.Inventory.Entries {
		child, k, ok := inventoryNode(entry.ID)
		if !ok || f.compact && k.plural == "" || child.String() == n.String() {
			continue
		}
		if k.plural != "" && !remote {
			known, err := f.known(ctx, child, k, seen)
			if err != nil {
				return err
			}
			child = known
		}
		n.Children = append(n.Children, child)
	}
	return nil
}

// known is the node of an object that this API may have, with what came of it.
func (f *forest) known(ctx context.Context, child *treeNode, k kind, seen map[string]bool) (*treeNode, error) {
	o, err := f.find(ctx, k, types.NamespacedName{Namespace: child.Namespace, Name: child.Name})
	if err != nil {
		return nil, err
	}
	if o == nil {
		child.Missing = true
		return child, nil
	}
	n, err := f.node(ctx, o)
	if err != nil {
		return nil, err
	}
	return n, f.grow(ctx, n, o, seen)
}

// inventoryNode reads an entry of an inventory: NAMESPACE_NAME_GROUP_KIND, with ":" as "__" in the names of RBAC objects.
func inventoryNode(id string) (*treeNode, kind, bool) {
	namespace, rest, ok := strings.Cut(id, "_")
	if !ok {
		return nil, kind{}, false
	}
	at := strings.LastIndex(rest, "_")
	if at < 0 {
		return nil, kind{}, false
	}
	rest, kindName := rest[:at], rest[at+1:]
	if at = strings.LastIndex(rest, "_"); at < 0 || kindName == "" {
		return nil, kind{}, false
	}
	name, group := strings.ReplaceAll(rest[:at], "__", ":"), rest[at+1:]
	k, _ := kindOf(schema.GroupKind{Group: group, Kind: kindName})
	return &treeNode{Kind: kindName, Group: group, Namespace: namespace, Name: name}, k, name != ""
}

// node describes an object and its source.
func (f *forest) node(ctx context.Context, o *object) (*treeNode, error) {
	n := &treeNode{Kind: o.kind.gvk.Kind, Group: o.kind.gvk.Group, Namespace: o.GetNamespace(), Name: o.GetName(),
		Ready: string(o.ready().Status), Suspended: o.Spec.Suspend, Revision: o.revision(), Path: o.Spec.Path}
	if n.Ready != string(metav1.ConditionTrue) {
		n.Message = o.message()
	}
	if o.kind.gvk == stackKind {
		n.Revision = cmp.Or(o.Status.LastAppliedRevision, o.Status.LastAttemptedRevision)
		if o.Spec.Outputs != nil {
			n.Outputs = o.Spec.Outputs.Name
		}
	}
	if o.Spec.SourceRef == nil {
		return n, nil
	}
	key := o.sourceKey()
	n.Source = &treeNode{Kind: o.Spec.SourceRef.Kind, Namespace: key.Namespace, Name: key.Name}
	k, ok := kindNamed(o.Spec.SourceRef.Kind)
	if !ok {
		return n, nil
	}
	n.Source.Group = k.gvk.Group
	source, err := f.find(ctx, k, key)
	switch {
	case err != nil:
		return nil, err
	case source == nil:
		n.Source.Missing = true
	default:
		n.Source.Ready, n.Source.Revision, n.Source.Suspended = string(source.ready().Status), source.revision(), source.Spec.Suspend
		if n.Source.Ready != string(metav1.ConditionTrue) {
			n.Source.Message = source.message()
		}
	}
	return n, nil
}
