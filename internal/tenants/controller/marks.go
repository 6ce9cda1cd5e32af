// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// mark writes into a manifest whose it is. An object in the namespace of its tenant that is deleted
// with it gets an owner reference. Retained objects and those elsewhere get labels: no owner
// reference reaches them.
func (c *cluster) mark(u *unstructured.Unstructured, t *tenantv1.Tenant, resource *tenantv1.TResource) {
	away := c.name != ""
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[tenantv1.AnnotationDeletionPolicy] = string(policyOf(resource))
	if resource.CreationPolicy == tenantv1.CreationPolicyOnce {
		annotations[tenantv1.AnnotationCreatedOnce] = tenantv1.ValueTrue
	}
	u.SetAnnotations(annotations)
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for _, name := range []string{tenantv1.LabelTenant, tenantv1.LabelTenantNamespace, tenantv1.LabelHome} {
		delete(labels, name)
	}
	if c.seal != "" {
		labels[tenantv1.LabelHome] = c.seal
	}
	if !away && u.GetNamespace() == t.Namespace && policyOf(resource) == tenantv1.DeletionPolicyDelete {
		u.SetOwnerReferences(append(u.GetOwnerReferences(), ownerReference(t)))
	} else {
		labels[tenantv1.LabelTenant], labels[tenantv1.LabelTenantNamespace] = t.Name, t.Namespace
	}
	u.SetLabels(labels)
	if gvk := u.GroupVersionKind(); !away && gvk.Group == infrav1.GroupVersion.Group && gvk.Kind == infrav1.Kind && !slices.Contains(u.GetFinalizers(), infrav1.Finalizer) {
		// The controller adds it to every stack. Setting it here saves a write.
		u.SetFinalizers(append(u.GetFinalizers(), infrav1.Finalizer))
	}
}

func ownerReference(t *tenantv1.Tenant) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: t.Name, UID: t.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
}

// policyOf is the deletion policy of a resource's object.
func policyOf(resource *tenantv1.TResource) tenantv1.DeletionPolicy {
	if resource.DeletionPolicy == tenantv1.DeletionPolicyRetain {
		return tenantv1.DeletionPolicyRetain
	}
	return tenantv1.DeletionPolicyDelete
}

// isTenant tells whether an owner reference leads to a tenant.
func isTenant(ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind
}

// ownership implements engine.Ownership for a tenant and a cluster.
type ownership struct {
	cluster *cluster
	tenant  *tenantv1.Tenant
	lives   func(owned.Owner) bool
}

// Standing implements engine.Ownership.
func (w ownership) Standing(live, manifest metav1.Object) engine.Standing {
	return engine.Standing{Mine: w.cluster.ours(live, w.tenant), Marked: w.cluster.marked(live, manifest, w.tenant),
		Made: live.GetAnnotations()[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue}
}

// Rival implements engine.Ownership.
func (w ownership) Rival(live, manifest metav1.Object, was bool) engine.Rival {
	if by := w.cluster.controlled(live); by != "" {
		return engine.Rival{Name: by, Firm: true}
	}
	name := w.cluster.holder(live, w.tenant, w.lives)
	if name == "" && !was {
		name = w.cluster.foreign(live, manifest, w.tenant, w.lives)
	}
	return engine.Rival{Name: name, Seated: ofOthers(live, w.tenant)}
}

// Adopt implements engine.Ownership.
func (ownership) Adopt(live, manifest metav1.Object) map[string]any { return adopting(live, manifest) }

// References implements engine.Ownership.
func (ownership) References(live, manifest metav1.Object) []metav1.OwnerReference {
	return references(live, manifest)
}

// ours tells whether an object says that it is a tenant's.
func (c *cluster) ours(o metav1.Object, t *tenantv1.Tenant) bool {
	if refersToTenant(o, t) {
		return true
	}
	owner, ok := labelledOwner(o)
	return ok && c.sealed(o) && owner == types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}

// sealed tells whether the tenant that the labels name belongs to this server. Another server may
// have tenants of the same names with objects in the same cluster.
func (c *cluster) sealed(o metav1.Object) bool { return o.GetLabels()[tenantv1.LabelHome] == c.seal }

func labelledOwner(o metav1.Object) (owned.Owner, bool) {
	labels := o.GetLabels()
	owner := owned.Owner{Namespace: labels[tenantv1.LabelTenantNamespace], Name: labels[tenantv1.LabelTenant]}
	return owner, owner.Name != "" && owner.Namespace != ""
}

// ownersOf are the tenants that an object names as its owners.
func ownersOf(o metav1.Object) []owned.Owner {
	var list []owned.Owner
	if owner, ok := labelledOwner(o); ok {
		list = append(list, owner)
	}
	for _, ref := range o.GetOwnerReferences() {
		owner := owned.Owner{Namespace: o.GetNamespace(), Name: ref.Name}
		if isTenant(ref) && !slices.Contains(list, owner) {
			list = append(list, owner)
		}
	}
	return list
}

// holder names who else has an object; empty for nobody. lives tells whether a tenant exists.
func (c *cluster) holder(o metav1.Object, t *tenantv1.Tenant, lives func(owned.Owner) bool) string {
	own := owned.Owner{Namespace: t.Namespace, Name: t.Name}
	if owner, ok := labelledOwner(o); ok && !c.sealed(o) {
		return fmt.Sprintf("Tenant %s of another server", owner)
	}
	if by := c.controlled(o); by != "" {
		return by
	}
	for _, owner := range ownersOf(o) {
		if owner != own && lives(owner) {
			return fmt.Sprintf("Tenant %s", owner)
		}
	}
	return ""
}

// foreign says who had an object before the tenant; empty when a tenant that is gone made it or
// left it behind. An unmarked object belongs to its maker, even if no field conflicts: otherwise it
// would be deleted with the tenant.
func (c *cluster) foreign(o, manifest metav1.Object, t *tenantv1.Tenant, lives func(owned.Owner) bool) string {
	if owner := c.holder(o, t, lives); owner != "" {
		return owner
	}
	if isOrphan(o) {
		if !c.sealed(o) {
			return "nobody, since a tenant of another server has left it behind"
		}
		if uid := o.GetLabels()[tenantv1.LabelUID]; uid != "" && uid != manifest.GetLabels()[tenantv1.LabelUID] {
			return fmt.Sprintf("nobody, since the tenant %s has left it behind", uid)
		}
		return ""
	}
	if o.GetAnnotations()[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue || len(ownersOf(o)) > 0 {
		return ""
	}
	return makers(o)
}

// maxNamed is how many names a message lists.
const maxNamed = 5

// makers names the field managers of an object.
func makers(o metav1.Object) string {
	var names []string
	for _, entry := range o.GetManagedFields() {
		if entry.Subresource == "" && entry.Manager != "" && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	if len(names) == 0 {
		return "whoever made it before the tenant was there"
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d others", more))
	}
	return fmt.Sprintf("%s, who made it before the tenant was there", strings.Join(names, ", "))
}

// controlled names the controller of an object, of which there is one at most; empty for none, and
// for tenants of this API.
func (c *cluster) controlled(o metav1.Object) string {
	for _, ref := range o.GetOwnerReferences() {
		switch {
		case !ptr.Deref(ref.Controller, false):
		case !isTenant(ref):
			return fmt.Sprintf("%s %s", ref.Kind, ref.Name)
		case c.name != "":
			return fmt.Sprintf("Tenant %s of that cluster", ref.Name)
		}
	}
	return ""
}

// ofOthers tells whether an object has an owner reference to another tenant.
func ofOthers(o metav1.Object, t *tenantv1.Tenant) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return isTenant(ref) && ref.UID != t.UID })
}

// marked tells whether an object is marked exactly as its manifest.
func (c *cluster) marked(o, manifest metav1.Object, t *tenantv1.Tenant) bool {
	if !c.ours(o, t) || isOrphan(o) || refersToTenant(o, t) != refersToTenant(manifest, t) {
		return false
	}
	for _, name := range ownLabels {
		if o.GetLabels()[name] != manifest.GetLabels()[name] {
			return false
		}
	}
	return true
}

// ownLabels say whose an object is.
var ownLabels = []string{tenantv1.LabelUID, tenantv1.LabelTenant, tenantv1.LabelTenantNamespace, tenantv1.LabelHome}

func refersToTenant(o metav1.Object, t *tenantv1.Tenant) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == t.UID })
}

// references are the owner references of the manifest, and those of the object that are not to
// tenants.
func references(o, manifest metav1.Object) []metav1.OwnerReference {
	refs := slices.Clone(manifest.GetOwnerReferences())
	for _, ref := range o.GetOwnerReferences() {
		if !isTenant(ref) && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// isOrphan tells whether a tenant left an object behind.
func isOrphan(o metav1.Object) bool {
	return o.GetLabels()[tenantv1.LabelOrphaned] == tenantv1.ValueTrue
}

// orphaning is the merge patch that retains an object: it is marked as orphaned, and the owner
// reference to the tenant is removed.
func orphaning(o metav1.Object, t *tenantv1.Tenant, reason string, now time.Time) map[string]any {
	others := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(ref metav1.OwnerReference) bool { return ref.UID == t.UID })
	return map[string]any{"metadata": map[string]any{
		"uid":             o.GetUID(),
		"ownerReferences": others,
		"labels":          map[string]any{tenantv1.LabelOrphaned: tenantv1.ValueTrue, tenantv1.LabelTenant: nil, tenantv1.LabelTenantNamespace: nil},
		"annotations":     map[string]any{tenantv1.AnnotationOrphanedAt: now.UTC().Format(time.RFC3339), tenantv1.AnnotationOrphanedReason: reason},
	}}
}

// adopting is the merge patch that marks an object as its manifest is marked, and changes nothing
// else.
func adopting(o, manifest metav1.Object) map[string]any {
	labels := map[string]any{tenantv1.LabelOrphaned: nil}
	for _, name := range ownLabels {
		labels[name] = orNull(manifest.GetLabels(), name)
	}
	annotations := map[string]any{tenantv1.AnnotationOrphanedAt: nil, tenantv1.AnnotationOrphanedReason: nil}
	for _, name := range []string{tenantv1.AnnotationDeletionPolicy, tenantv1.AnnotationCreatedOnce} {
		annotations[name] = orNull(manifest.GetAnnotations(), name)
	}
	return map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "ownerReferences": references(o, manifest), "labels": labels, "annotations": annotations,
	}}
}

// orNull is the value of a key, or null, which removes it.
func orNull(values map[string]string, key string) any {
	if value := values[key]; value != "" {
		return value
	}
	return nil
}
