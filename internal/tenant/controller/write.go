// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/owned"
)

// conflictError says that somebody else has an object.
type conflictError struct{ owner string }

func (e *conflictError) Error() string { return "it belongs to " + e.owner }

// writing is one object to be written.
type writing struct {
	cluster  *cluster
	tenant   *tenantv1.Tenant
	resource *tenantv1.TResource
	// manifest is what the object is to be. It is not changed.
	manifest *unstructured.Unstructured
	// mine is true when the object is known to be the tenant's, exists when it is known to be there, and made when it is
	// one that is made once and says that it was.
	mine, exists, made bool
	// adopt says that nothing but the marks of an object is to be written.
	adopt bool
	lives func(owned.Owner) bool
}

// do writes the object and returns it as the API answered. The error is a *conflictError when somebody else has it.
func (w *writing) do(ctx context.Context) (*unstructured.Unstructured, error) {
	if (!w.mine || w.adopt) && w.mustLook() {
		if err := w.look(ctx); err != nil {
			return nil, err
		}
	}
	written, err := w.send(ctx)
	if err != nil && !w.mine && (apierrors.IsConflict(err) || apierrors.IsInvalid(err)) {
		// Perhaps it is ours and does not say so in a way that watches see: an earlier release made it.
		if lookErr := w.look(ctx); lookErr != nil {
			return nil, lookErr
		}
		if w.mine {
			written, err = w.send(ctx)
		} else if apierrors.IsConflict(err) {
			return nil, &conflictError{owner: managers(err)}
		}
	}
	if err != nil {
		return nil, w.explain(err)
	}
	if isOrphan(written) || !marked(written, w.manifest, w.tenant) {
		return w.takeBack(ctx, written)
	}
	return written, nil
}

// mustLook tells whether an object that is not known to be the tenant's must be looked for before it is written.
// Server-side apply finds out by itself; nothing else does.
func (w *writing) mustLook() bool {
	return w.adopt || w.strategy() != tenantv1.PatchStrategyApply || w.resource.CreationPolicy == tenantv1.CreationPolicyOnce || len(w.resource.IgnoreFields) > 0
}

func (w *writing) strategy() tenantv1.PatchStrategy {
	if w.resource.PatchStrategy == "" {
		return tenantv1.PatchStrategyApply
	}
	return w.resource.PatchStrategy
}

// look finds out whose the object is.
func (w *writing) look(ctx context.Context) error {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(w.manifest.GroupVersionKind())
	err := w.cluster.client.Get(ctx, client.ObjectKeyFromObject(w.manifest), m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for it: %w", err)
	}
	w.exists, w.mine = true, ours(m, w.tenant)
	w.made = m.Annotations[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue
	if w.mine || w.resource.ConflictPolicy == tenantv1.ConflictPolicyForce {
		return nil
	}
	if owner := holder(m, w.tenant, w.lives); owner != "" {
		return &conflictError{owner: owner}
	}
	return nil
}

func (w *writing) send(ctx context.Context) (*unstructured.Unstructured, error) {
	once := w.resource.CreationPolicy == tenantv1.CreationPolicyOnce
	if once && w.exists && (w.mine || w.made) {
		return w.read(ctx)
	}
	manifest := w.manifest
	if w.exists && len(w.resource.IgnoreFields) > 0 && !once {
		live, err := w.read(ctx)
		if err != nil {
			return nil, err
		}
		if manifest, err = withIgnored(manifest, live, w.resource.IgnoreFields); err != nil {
			return nil, err
		}
	}
	switch w.strategy() {
	case tenantv1.PatchStrategyMerge:
		return w.merge(ctx, manifest)
	case tenantv1.PatchStrategyReplace:
		return w.replace(ctx, manifest)
	}
	u := manifest.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner(tenantv1.FieldManager)}
	if w.mine || w.resource.ConflictPolicy == tenantv1.ConflictPolicyForce {
		options = append(options, client.ForceOwnership)
	}
	return u, w.cluster.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), options...)
}

func (w *writing) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(w.manifest.GroupVersionKind())
	if err := w.cluster.client.Get(ctx, client.ObjectKeyFromObject(w.manifest), live); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return live, nil
}

// merge patches the object, or makes it.
func (w *writing) merge(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u := manifest.DeepCopy()
	if !w.exists {
		return w.create(ctx, u)
	}
	if err := w.refuseForeign(); err != nil {
		return nil, err
	}
	content, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	kind := types.MergePatchType
	if clientgoscheme.Scheme.Recognizes(u.GroupVersionKind()) {
		kind = types.StrategicMergePatchType
	}
	return u, w.cluster.client.Patch(ctx, u, client.RawPatch(kind, content), client.FieldOwner(tenantv1.FieldManager))
}

// replace puts the manifest in the object's place, or makes it. Finalizers and other owners stay: they are not the
// template's to take away.
func (w *writing) replace(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u := manifest.DeepCopy()
	if !w.exists {
		return w.create(ctx, u)
	}
	if err := w.refuseForeign(); err != nil {
		return nil, err
	}
	live, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	u.SetResourceVersion(live.GetResourceVersion())
	u.SetUID(live.GetUID())
	u.SetFinalizers(live.GetFinalizers())
	refs := u.GetOwnerReferences()
	for _, ref := range live.GetOwnerReferences() {
		if ref.UID != w.tenant.UID && !isTenant(ref) && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			refs = append(refs, ref)
		}
	}
	u.SetOwnerReferences(refs)
	return u, w.cluster.client.Update(ctx, u, client.FieldOwner(tenantv1.FieldManager))
}

func (w *writing) create(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return u, w.cluster.client.Create(ctx, u, client.FieldOwner(tenantv1.FieldManager))
}

// refuseForeign keeps what cannot tell whose fields it changes from changing what is not the tenant's.
func (w *writing) refuseForeign() error {
	if w.mine || w.resource.ConflictPolicy == tenantv1.ConflictPolicyForce {
		return nil
	}
	return &conflictError{owner: "whoever made it before the tenant was there"}
}

// takeBack marks what was left behind, or was made once before, as the tenant's.
func (w *writing) takeBack(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := mergePatch(ctx, w.cluster, u, adopting(u, w.manifest)); err != nil {
		return nil, fmt.Errorf("take it back: %w", err)
	}
	return u, nil
}

// mergePatch patches an object and takes over what the API answers.
func mergePatch(ctx context.Context, c *cluster, obj client.Object, patch map[string]any) error {
	content, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, content), client.FieldOwner(tenantv1.FieldManager))
}

// managers names those who own fields that an apply would change.
func managers(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return "somebody else"
	}
	var names []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		_, rest, _ := strings.Cut(cause.Message, `"`)
		name, _, _ := strings.Cut(rest, `"`)
		if text := fmt.Sprintf("%s (%s)", name, cause.Field); !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return "somebody else"
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more fields", more))
	}
	return strings.Join(names, ", ")
}

// maxNamed is how many things of a kind a message names.
const maxNamed = 5

// explain says what the API did not take. Of a Secret only the fields are named: the API quotes values.
func (w *writing) explain(err error) error {
	if isConflict(err) {
		return err
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the API does not serve the kind %s of %s", w.manifest.GetKind(), w.manifest.GetAPIVersion())
	}
	if w.manifest.GroupVersionKind().GroupKind() != secretKind || apierrors.IsForbidden(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return errors.New("the API did not answer as it should; what exactly it says is not shown, for it may quote the Secret")
	}
	fields := " its content"
	if d := status.Status().Details; d != nil && len(d.Causes) > 0 {
		fields = ""
		for _, c := range d.Causes {
			fields += fmt.Sprintf(" %s (%s)", c.Field, c.Type)
		}
	}
	return fmt.Errorf("the API does not accept%s (%s); what exactly it says is not shown, for it may quote the Secret", fields, status.Status().Reason)
}

func isConflict(err error) bool {
	var c *conflictError
	return errors.As(err, &c)
}
