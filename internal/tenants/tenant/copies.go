// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/objects/inventory"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// copiesID is the id of copies in an inventory: objects of our API, copied to the target.
const copiesID = "(copied)"

var (
	secretKind         = schema.GroupKind{Kind: "Secret"}
	configMapKind      = schema.GroupKind{Kind: "ConfigMap"}
	namespaceKind      = schema.GroupKind{Kind: "Namespace"}
	serviceAccountKind = schema.GroupKind{Kind: "ServiceAccount"}
)

// copiedKinds are the copied kinds, in the order of their dependencies.
var copiedKinds = []schema.GroupKind{namespaceKind, serviceAccountKind, configMapKind, secretKind}

// copyEntry is the inventory entry of a copy.
func (p *pass) copyEntry(c *targets.Cluster, ref owned.Ref) tenantv1.AppliedResource {
	e := tenantv1.AppliedResource{ID: copiesID, APIVersion: "v1", Kind: ref.GroupKind.Kind, Namespace: ref.Namespace, Name: ref.Name,
		DeletionPolicy: tenantv1.DeletionPolicyDelete}
	setCluster(&e, c)
	if d := p.memory.copies[placeOf(&e)]; d.print != nil {
		e.UID, e.Hash, e.Print = string(d.print.UID), versionText(d.version), inventory.PrintText(*d.print)
	} else if before := p.entries[placeOf(&e)]; before != nil {
		e.UID, e.Hash, e.Print = before.UID, before.Hash, before.Print
	}
	return e
}

// linkCopies finds what each object at the target needs from our API: objects of the tenant, and
// output Secrets of its stacks.
func (p *pass) linkCopies() {
	here := map[owned.ID]bool{}
	accounts := map[owned.ID]*unstructured.Unstructured{}
	for _, it := range p.items {
		if it.broken != "" || it.cluster != p.home {
			continue
		}
		if slices.Contains(copiedKinds, it.ref.GroupKind) {
			here[it.ref.ID] = true
		}
		if it.ref.GroupKind == serviceAccountKind {
			accounts[it.ref.ID] = it.manifest
		}
		if name := graph.OutputsOf(it.manifest); name != "" {
			here[owned.ID{GroupKind: secretKind, Namespace: it.ref.Namespace, Name: name}] = true
		}
	}
	for _, it := range p.items {
		if it.broken != "" || it.cluster == p.home {
			continue
		}
		ids := refersTo(it.manifest)
		for _, id := range slices.Clone(ids) {
			if account := accounts[id]; account != nil {
				ids = append(ids, refersTo(account)...) // the Secrets that images are pulled with
			}
		}
		for _, id := range ids {
			if here[id] && !slices.ContainsFunc(it.copies, func(ref owned.Ref) bool { return ref.ID == id }) {
				it.copies = append(it.copies, owned.Ref{ID: id, Version: "v1"})
			}
		}
		slices.SortStableFunc(it.copies, func(a, b owned.Ref) int {
			return slices.Index(copiedKinds, a.GroupKind) - slices.Index(copiedKinds, b.GroupKind)
		})
	}
}

// referringFields are fields that refer to other objects, with their kinds.
var referringFields = map[string]schema.GroupKind{
	"secretName": secretKind, "secretRef": secretKind, "secretKeyRef": secretKind, "secret": secretKind, "imagePullSecrets": secretKind,
	"nodePublishSecretRef": secretKind,
	"configMapRef":         configMapKind, "configMapKeyRef": configMapKind, "configMap": configMapKind,
	"serviceAccountName": serviceAccountKind, "serviceAccount": serviceAccountKind,
}

// refersTo lists all possible references of a manifest in its namespace, and the namespace. The
// caller drops objects that are not the tenant's.
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

// reads are objects of our API, not the tenant's, whose changes matter to it: originals of copies,
// and objects of other owners.
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

// versionHere is an object's version in our API's watch; empty without it.
func (p *pass) versionHere(ref owned.Ref) string {
	m, _ := p.home.Watch.Get(ref.ID)
	if m == nil {
		return ""
	}
	return string(m.UID) + "/" + m.ResourceVersion
}

// copyAll copies an object's references from our API, unless the copies are current.
func (r *Controller) copyAll(ctx context.Context, p *pass, it *item) (map[place]duplicate, error) {
	copied := map[place]duplicate{}
	for _, ref := range it.copies {
		at := place{it.cluster.Name, ref.ID}
		if p.isCopied(it.cluster, ref) {
			continue
		}
		d, err := r.copyOne(ctx, p, it.cluster, ref)
		if err != nil {
			return copied, fmt.Errorf("copy %s, which it needs, to the cluster of spec.kubeConfig: %w", owned.Name(ref.ID), err)
		}
		copied[at] = *d
	}
	return copied, nil
}

// versionText is the inventory's form of a copied object's version.
func versionText(version string) string { return inventory.Text(sha256.Sum256([]byte(version))) }

// recallCopies restores from the status which copies are current.
func (p *pass) recallCopies() {
	for _, it := range p.items {
		for _, ref := range it.copies {
			at := place{it.cluster.Name, ref.ID}
			e, now := p.entries[at], p.versionHere(ref)
			if _, was := p.memory.copies[at]; was || e == nil || now == "" || e.Hash != versionText(now) {
				continue
			}
			if live, _ := it.cluster.Watch.Get(ref.ID); live != nil && e.Print == inventory.PrintText(owned.PrintOf(live)) {
				left := owned.PrintOf(live)
				p.memory.copies[at] = duplicate{version: now, print: &left}
			}
		}
	}
}

// isCopied reports whether the copy of an object is current and unchanged.
func (p *pass) isCopied(to *targets.Cluster, ref owned.Ref) bool {
	d, was := p.memory.copies[place{to.Name, ref.ID}]
	if now := p.versionHere(ref); !was || now == "" || d.version != now {
		return false
	}
	if d.print == nil {
		return true
	}
	_, followed := to.Watch.Get(ref.ID)
	return followed == "" || to.Watch.AsLeft(ref.ID, *d.print)
}

// ownAnnotations describe an object itself, not its copies.
var ownAnnotations = map[string]bool{corev1.LastAppliedConfigAnnotation: true, tenantv1.AnnotationCreatedOnce: true, tenantv1.AnnotationDeletionPolicy: true,
	tenantv1.AnnotationOrphanedAt: true, tenantv1.AnnotationOrphanedReason: true}

// sharedKinds need no copy if another owner has created the object.
var sharedKinds = map[schema.GroupKind]bool{namespaceKind: true, serviceAccountKind: true}

// copyOf is the manifest of a copy.
func copyOf(from *unstructured.Unstructured, uid string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(from.GroupVersionKind())
	u.SetNamespace(from.GetNamespace())
	u.SetName(from.GetName())
	labels := maps.Clone(from.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[tenantv1.LabelUID] = uid
	delete(labels, corev1.LabelMetadataName)
	delete(labels, tenantv1.LabelOrphaned)
	u.SetLabels(labels)
	// A ServiceAccount's annotations may name a role of a cloud.
	annotations := maps.Clone(from.GetAnnotations())
	maps.DeleteFunc(annotations, func(name, _ string) bool { return ownAnnotations[name] })
	u.SetAnnotations(annotations)
	for _, field := range []string{"type", "data", "binaryData", "immutable", "imagePullSecrets", "automountServiceAccountToken"} {
		if value, there := from.Object[field]; there {
			u.Object[field] = value
		}
	}
	return u
}

// copyOne copies an object of our API.
func (r *Controller) copyOne(ctx context.Context, p *pass, to *targets.Cluster, ref owned.Ref) (*duplicate, error) {
	from := &unstructured.Unstructured{}
	from.SetGroupVersionKind(ref.GroupKind.WithVersion(ref.Version))
	err := p.home.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, from)
	if apierrors.IsNotFound(err) {
		return nil, errors.New("it is not there yet")
	}
	if err != nil {
		return nil, err
	}
	uid := p.obj.Labels[tenantv1.LabelUID]
	if !p.marks(p.home).Ours(from) && (uid == "" || from.GetLabels()[tenantv1.LabelUID] != uid) {
		// A row may contain the name: never copy another owner's object.
		return nil, fmt.Errorf("it does not belong to the tenant: it does not have the label %s=%s", tenantv1.LabelUID, uid)
	}
	u := copyOf(from, uid)
	p.marks(to).Write(u, &tenantv1.TResource{})
	w := r.writing(ctx, p, to, u, &tenantv1.TResource{})
	w.Live, _ = to.Watch.Get(ref.ID)
	d := &duplicate{version: string(from.GetUID()) + "/" + from.GetResourceVersion()}
	written, err := r.engine.Write(ctx, &to.Cluster, w)
	if engine.IsConflict(err) && sharedKinds[ref.GroupKind] {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	left := owned.PrintOf(written)
	d.print = &left
	return d, nil
}

// refreshCopies updates copies whose originals have changed.
func (r *Controller) refreshCopies(ctx context.Context, p *pass) error {
	for i, d := range p.decision.Objects {
		it := p.items[i]
		if len(it.copies) == 0 || it.broken != "" || !it.exists() || d.Verb.Writes() {
			continue
		}
		copied, err := r.copyAll(ctx, p, it)
		maps.Copy(p.memory.copies, copied)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.tell(it.id+" copies", corev1.EventTypeWarning, tenantv1.EventApplyFailed, fmt.Sprintf("%s: %s", it.id, passes.OneLine(err.Error())))
			p.next = times.Earlier(p.next, p.now.Add(passes.RetryPause))
		} else {
			delete(p.memory.told, it.id+" copies")
		}
	}
	return nil
}
