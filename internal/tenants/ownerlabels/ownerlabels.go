// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ownerlabels

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
)

// Marks are those of a tenant's objects in one cluster.
type Marks struct {
	Tenant *tenantv1.Tenant
	// Away is true for clusters other than this server's API; Seal is its label value there.
	Away bool
	Seal string
	// Lives reports whether a tenant exists.
	Lives func(owned.Owner) bool
}

// Write marks a manifest.
func (m Marks) Write(u *unstructured.Unstructured, resource *tenantv1.TResource) {
	t := m.Tenant
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[tenantv1.AnnotationDeletionPolicy] = string(PolicyOf(resource))
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
	if m.Seal != "" {
		labels[tenantv1.LabelHome] = m.Seal
	}
	if !m.Away && u.GetNamespace() == t.Namespace && PolicyOf(resource) == tenantv1.DeletionPolicyDelete {
		u.SetOwnerReferences(append(u.GetOwnerReferences(), ownerReference(t)))
	} else {
		labels[tenantv1.LabelTenant], labels[tenantv1.LabelTenantNamespace] = t.Name, t.Namespace
	}
	u.SetLabels(labels)
	if gvk := u.GroupVersionKind(); !m.Away && gvk.Group == infrav1.GroupVersion.Group && gvk.Kind == infrav1.Kind && !slices.Contains(u.GetFinalizers(), infrav1.Finalizer) {
		// The controller adds it to every stack. Setting it here saves a write.
		u.SetFinalizers(append(u.GetFinalizers(), infrav1.Finalizer))
	}
}

func ownerReference(t *tenantv1.Tenant) metav1.OwnerReference {
	return *metav1.NewControllerRef(t, tenantv1.GroupVersion.WithKind(tenantv1.TenantKind))
}

// PolicyOf is the deletion policy of a resource's object.
func PolicyOf(resource *tenantv1.TResource) tenantv1.DeletionPolicy {
	if resource.DeletionPolicy == tenantv1.DeletionPolicyRetain {
		return tenantv1.DeletionPolicyRetain
	}
	return tenantv1.DeletionPolicyDelete
}

// isTenant reports whether an owner reference leads to a tenant.
func isTenant(ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind
}

// Standing implements engine.Ownership.
func (m Marks) Standing(live, manifest metav1.Object) engine.Standing {
	return engine.Standing{Mine: m.Ours(live), Marked: m.Marked(live, manifest),
		Made: live.GetAnnotations()[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue}
}

// Rival implements engine.Ownership.
func (m Marks) Rival(live, manifest metav1.Object, was bool) engine.Rival {
	if by := m.controlled(live); by != "" {
		return engine.Rival{Name: by, Firm: true}
	}
	name := m.Holder(live)
	if name == "" && !was {
		name = m.Foreign(live, manifest)
	}
	others := func(ref metav1.OwnerReference) bool { return isTenant(ref) && ref.UID != m.Tenant.UID }
	return engine.Rival{Name: name, Seated: slices.ContainsFunc(live.GetOwnerReferences(), others)}
}

// Ours reports whether an object is marked as the tenant's.
func (m Marks) Ours(o metav1.Object) bool {
	if m.Refers(o) {
		return true
	}
	owner, ok := labelledOwner(o)
	return ok && m.sealed(o) && owner == m.owner()
}

func (m Marks) owner() owned.Owner {
	return owned.Owner{Namespace: m.Tenant.Namespace, Name: m.Tenant.Name}
}

// sealed reports whether the tenant that the labels name belongs to this server. Another server may
// have tenants of the same names with objects in the same cluster.
func (m Marks) sealed(o metav1.Object) bool { return o.GetLabels()[tenantv1.LabelHome] == m.Seal }

func labelledOwner(o metav1.Object) (owned.Owner, bool) {
	labels := o.GetLabels()
	owner := owned.Owner{Namespace: labels[tenantv1.LabelTenantNamespace], Name: labels[tenantv1.LabelTenant]}
	return owner, owner.Name != "" && owner.Namespace != ""
}

// OwnersOf are the tenants that an object names as its owners.
func OwnersOf(o metav1.Object) []owned.Owner {
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

// Holder names another owner of an object; empty if there is none.
func (m Marks) Holder(o metav1.Object) string {
	if owner, ok := labelledOwner(o); ok && !m.sealed(o) {
		return fmt.Sprintf("Tenant %s of another server", owner)
	}
	if by := m.controlled(o); by != "" {
		return by
	}
	for _, owner := range OwnersOf(o) {
		if owner != m.owner() && m.Lives(owner) {
			return fmt.Sprintf("Tenant %s", owner)
		}
	}
	return ""
}

// Foreign names the owner that an object had before the tenant; empty if a deleted tenant made it
// or left it behind. An unmarked object belongs to its creator, even if no field conflicts:
// otherwise it would be deleted with the tenant.
func (m Marks) Foreign(o, manifest metav1.Object) string {
	if owner := m.Holder(o); owner != "" {
		return owner
	}
	if isOrphan(o) {
		if !m.sealed(o) {
			return "nobody: a tenant of another server left it behind"
		}
		if uid := o.GetLabels()[tenantv1.LabelUID]; uid != "" && uid != manifest.GetLabels()[tenantv1.LabelUID] {
			return fmt.Sprintf("nobody: the tenant %s left it behind", uid)
		}
		return ""
	}
	if o.GetAnnotations()[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue || len(OwnersOf(o)) > 0 {
		return ""
	}
	return makers(o)
}

// makers names the field managers of an object.
func makers(o metav1.Object) string {
	var names []string
	for _, entry := range o.GetManagedFields() {
		if entry.Subresource == "" && entry.Manager != "" && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	if len(names) == 0 {
		return "an unknown client, which created it before the tenant"
	}
	return decide.List(names) + ", which created it before the tenant"
}

// controlled names the controller of an object; empty for none, and for tenants of this API.
func (m Marks) controlled(o metav1.Object) string {
	for _, ref := range o.GetOwnerReferences() {
		switch {
		case !ptr.Deref(ref.Controller, false):
		case !isTenant(ref):
			return fmt.Sprintf("%s %s", ref.Kind, ref.Name)
		case m.Away:
			return fmt.Sprintf("Tenant %s of that cluster", ref.Name)
		}
	}
	return ""
}

// Marked reports whether an object is marked exactly as its manifest.
func (m Marks) Marked(o, manifest metav1.Object) bool {
	if !m.Ours(o) || isOrphan(o) || m.Refers(o) != m.Refers(manifest) {
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

// Refers reports whether an object has an owner reference to the tenant.
func (m Marks) Refers(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == m.Tenant.UID })
}

// References implements engine.Ownership: the owner references of the manifest, and those of the
// object that are not to tenants.
func (Marks) References(o, manifest metav1.Object) []metav1.OwnerReference {
	refs := slices.Clone(manifest.GetOwnerReferences())
	for _, ref := range o.GetOwnerReferences() {
		if !isTenant(ref) && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// isOrphan reports whether a tenant left an object behind.
func isOrphan(o metav1.Object) bool {
	return o.GetLabels()[tenantv1.LabelOrphaned] == tenantv1.ValueTrue
}

// Orphan is the merge patch that retains an object: it is marked as orphaned, and the owner
// reference to the tenant is removed.
func (m Marks) Orphan(o metav1.Object, reason string, now time.Time) map[string]any {
	others := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(ref metav1.OwnerReference) bool { return ref.UID == m.Tenant.UID })
	return map[string]any{"metadata": map[string]any{
		"uid":             o.GetUID(),
		"ownerReferences": others,
		"labels":          map[string]any{tenantv1.LabelOrphaned: tenantv1.ValueTrue, tenantv1.LabelTenant: nil, tenantv1.LabelTenantNamespace: nil},
		"annotations":     map[string]any{tenantv1.AnnotationOrphanedAt: now.UTC().Format(time.RFC3339), tenantv1.AnnotationOrphanedReason: reason},
	}}
}

// Adopt implements engine.Ownership: the merge patch that marks an object as its manifest is
// marked, and changes nothing else.
func (m Marks) Adopt(o, manifest metav1.Object) map[string]any {
	labels := map[string]any{tenantv1.LabelOrphaned: nil}
	for _, name := range ownLabels {
		labels[name] = orNull(manifest.GetLabels(), name)
	}
	annotations := map[string]any{tenantv1.AnnotationOrphanedAt: nil, tenantv1.AnnotationOrphanedReason: nil}
	for _, name := range []string{tenantv1.AnnotationDeletionPolicy, tenantv1.AnnotationCreatedOnce} {
		annotations[name] = orNull(manifest.GetAnnotations(), name)
	}
	return map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "ownerReferences": m.References(o, manifest), "labels": labels, "annotations": annotations,
	}}
}

// Stray reports whether labels, which no garbage collector reads, name a tenant of this server as
// the owner of an object that is not being deleted.
func Stray(o metav1.Object, owner owned.Owner, seal string) bool {
	of, labelled := labelledOwner(o)
	return labelled && of == owner && o.GetLabels()[tenantv1.LabelHome] == seal && o.GetDeletionTimestamp() == nil
}

// orNull is the value of a key, or null, which removes it.
func orNull(values map[string]string, key string) any {
	if value := values[key]; value != "" {
		return value
	}
	return nil
}
