// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/owned"
	"github.com/yuba-dev/yuba/internal/tenant/decide"
)

// copiesID is what an inventory calls objects of ours that were copied to the target.
const copiesID = "(copied)"

var serviceAccountKind = schema.GroupKind{Kind: "ServiceAccount"}

// copiedKinds are the kinds that are copied, in the order in which they are needed.
var copiedKinds = []schema.GroupKind{namespaceKind, serviceAccountKind, configMapKind, secretKind}

// copyEntry is how a copy stands in the inventory.
func copyEntry(ref owned.Ref) tenantv1.AppliedResource {
	return tenantv1.AppliedResource{ID: copiesID, APIVersion: "v1", Kind: ref.GroupKind.Kind, Namespace: ref.Namespace, Name: ref.Name,
		DeletionPolicy: tenantv1.DeletionPolicyDelete, Cluster: tenantv1.ClusterTarget}
}

// linkCopies finds, for each object at the target, what it refers to that is here: objects of the tenant, and Secrets that its
// stacks write.
func (p *pass) linkCopies() {
	here := map[owned.ID]bool{}
	for _, it := range p.items {
		if it.broken != "" || it.cluster != p.home {
			continue
		}
		if slices.Contains(copiedKinds, it.ref.GroupKind) {
			here[it.ref.ID] = true
		}
		if name := outputsOf(it.manifest); name != "" {
			here[owned.ID{GroupKind: secretKind, Namespace: it.ref.Namespace, Name: name}] = true
		}
	}
	for _, it := range p.items {
		if it.broken != "" || it.cluster == p.home {
			continue
		}
		for _, id := range refersTo(it.manifest) {
			if here[id] {
				it.copies = append(it.copies, owned.Ref{ID: id, Version: "v1"})
			}
		}
		slices.SortStableFunc(it.copies, func(a, b owned.Ref) int {
			return slices.Index(copiedKinds, a.GroupKind) - slices.Index(copiedKinds, b.GroupKind)
		})
	}
}

// outputsOf is the Secret that a stack writes its outputs to; empty for none.
func outputsOf(u *unstructured.Unstructured) string {
	if u.GroupVersionKind().Group != infrav1.GroupVersion.Group {
		return ""
	}
	name, _, err := unstructured.NestedString(u.Object, "spec", "writeOutputsToSecret", "name")
	if err != nil {
		return ""
	}
	return name
}

// The fields by which manifests refer to others, and what those are.
var referringFields = map[string]schema.GroupKind{
	"secretName": secretKind, "secretRef": secretKind, "secretKeyRef": secretKind, "secret": secretKind, "imagePullSecrets": secretKind,
	"nodePublishSecretRef": secretKind,
	"configMapRef":         configMapKind, "configMapKeyRef": configMapKind, "configMap": configMapKind,
	"serviceAccountName": serviceAccountKind, "serviceAccount": serviceAccountKind,
}

// refersTo lists what a manifest may refer to, in its own namespace, and that namespace. What is none of the tenant's is left
// out by the caller, so that a field of another meaning does no harm.
func refersTo(u *unstructured.Unstructured) []owned.ID {
	var ids []owned.ID
	add := func(kind schema.GroupKind, namespace, name string) {
		if id := (owned.ID{GroupKind: kind, Namespace: namespace, Name: name}); name != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(namespaceKind, "", u.GetNamespace())
	var named func(kind schema.GroupKind, value any)
	named = func(kind schema.GroupKind, value any) {
		switch v := value.(type) {
		case string:
			add(kind, u.GetNamespace(), v)
		case []any:
			for _, entry := range v {
				named(kind, entry)
			}
		case map[string]any:
			for _, field := range []string{"name", "secretName"} {
				if name, ok := v[field].(string); ok {
					add(kind, u.GetNamespace(), name)
				}
			}
		}
	}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, entry := range v {
				walk(entry)
			}
		case map[string]any:
			for field, entry := range v {
				if kind, refers := referringFields[field]; refers {
					named(kind, entry)
				}
				walk(entry)
			}
		}
	}
	walk(u.Object)
	return ids
}

// reads are the objects of ours that the tenant has not, and wants to hear of: those that its objects elsewhere need, and
// those that somebody else has.
func (p *pass) reads() []owned.ID {
	var ids []owned.ID
	for i, it := range p.items {
		if it.broken == "" && it.cluster == p.home && i < len(p.decision.Objects) && p.decision.Objects[i].Verb == decide.VerbConflict {
			ids = append(ids, it.ref.ID)
		}
		for _, ref := range it.copies {
			if !slices.Contains(ids, ref.ID) {
				ids = append(ids, ref.ID)
			}
		}
	}
	return ids
}

// versionHere is the version of an object of ours as the watch has it; empty when it has none.
func (p *pass) versionHere(ref owned.Ref) string {
	m, _ := p.home.watch.Get(ref.ID)
	if m == nil {
		return ""
	}
	return string(m.UID) + "/" + m.ResourceVersion
}

// copyAll copies what an object needs of ours, as far as the copies are not as it is now.
func (r *Tenants) copyAll(ctx context.Context, p *pass, it *item) (map[place]string, error) {
	copied := map[place]string{}
	for _, ref := range it.copies {
		at := place{tenantv1.ClusterTarget, ref.ID}
		now := p.versionHere(ref)
		if now != "" && p.memory.copies[at] == now {
			continue
		}
		version, err := r.copyOne(ctx, p, it.cluster, ref)
		if err != nil {
			return copied, fmt.Errorf("copy %s, which it needs, to the cluster of spec.kubeConfig: %w", owned.Name(ref.ID), err)
		}
		copied[at] = version
	}
	return copied, nil
}

// copyOne copies an object of ours, and returns which version of it.
func (r *Tenants) copyOne(ctx context.Context, p *pass, to *cluster, ref owned.Ref) (string, error) {
	from := &unstructured.Unstructured{}
	from.SetGroupVersionKind(ref.GroupKind.WithVersion(ref.Version))
	err := p.home.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, from)
	if apierrors.IsNotFound(err) {
		return "", errors.New("it is not there yet")
	}
	if err != nil {
		return "", err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(from.GroupVersionKind())
	u.SetNamespace(ref.Namespace)
	u.SetName(ref.Name)
	labels := map[string]string{}
	for name, value := range from.GetLabels() {
		labels[name] = value
	}
	labels[tenantv1.LabelUID] = p.obj.Labels[tenantv1.LabelUID]
	delete(labels, corev1.LabelMetadataName)
	u.SetLabels(labels)
	for _, field := range []string{"type", "data", "binaryData", "immutable"} {
		if value, there := from.Object[field]; there {
			u.Object[field] = value
		}
	}
	mark(u, p.obj, &tenantv1.TResource{}, true)
	w := &writing{cluster: to, tenant: p.obj, resource: &tenantv1.TResource{}, manifest: u, lives: r.lives(ctx)}
	if live, _ := to.watch.Get(ref.ID); live != nil {
		w.exists, w.mine = true, ours(live, p.obj)
	}
	if _, err := w.do(ctx); err != nil {
		return "", err
	}
	return string(from.GetUID()) + "/" + from.GetResourceVersion(), nil
}

// refreshCopies brings copies up to date whose originals have changed since.
func (r *Tenants) refreshCopies(ctx context.Context, p *pass) error {
	for i, d := range p.decision.Objects {
		it := p.items[i]
		if len(it.copies) == 0 || it.broken != "" || !it.exists() || d.Verb.Writes() {
			continue
		}
		copied, err := r.copyAll(ctx, p, it)
		for at, version := range copied {
			p.memory.copies[at] = version
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.news = append(p.news, news{corev1.EventTypeWarning, tenantv1.EventApplyFailed, fmt.Sprintf("%s: %s", it.id, oneLine(err.Error()))})
			p.next = earliest(p.next, p.now.Add(targetRetryPause))
		}
	}
	return nil
}
