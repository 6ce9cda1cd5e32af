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
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/render"
)

// conflictError says that somebody else has an object. claimed says that it is a tenant which is just about to write it.
type conflictError struct {
	owner   string
	claimed bool
}

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
	// was is the uid of the object that was the tenant's when it was last looked at; empty for none.
	was types.UID
	// adopt says that nothing but the marks of an object is to be written.
	adopt bool
	lives func(owned.Owner) bool
}

// do writes the object and returns it as the API answered. The error is a *conflictError when somebody else has it.
func (w *writing) do(ctx context.Context) (*unstructured.Unstructured, error) {
	if w.exists && !w.mine || w.adopt {
		if err := w.look(ctx); err != nil {
			return nil, w.explain(err)
		}
	}
	written, err := w.send(ctx)
	if !w.exists && isThere(err) {
		if err = w.look(ctx); err == nil {
			written, err = w.send(ctx)
		}
	}
	if err != nil && !w.mine && fieldsOf(err) != nil {
		return nil, &conflictError{owner: managers(err)}
	}
	if err != nil {
		return nil, w.explain(err)
	}
	if !w.cluster.marked(written, w.manifest, w.tenant) {
		return w.takeBack(ctx, written)
	}
	return written, nil
}

// look finds out whose the object is, and takes it from another tenant when that is to be.
func (w *writing) look(ctx context.Context) error {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(w.manifest.GroupVersionKind())
	err := w.cluster.client.Get(ctx, client.ObjectKeyFromObject(w.manifest), m)
	if apierrors.IsNotFound(err) {
		w.exists, w.mine, w.made = false, false, false
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for it: %w", err)
	}
	w.exists, w.mine = true, w.cluster.ours(m, w.tenant)
	w.made = m.Annotations[tenantv1.AnnotationCreatedOnce] == tenantv1.ValueTrue
	if w.mine {
		return nil
	}
	if err := w.mayTake(m); err != nil {
		return err
	}
	if !ofOthers(m, w.tenant) {
		return nil
	}
	// An object has one controller: as long as another tenant is that, nothing can be written.
	if err := mergePatch(ctx, w.cluster, m, adopting(m, w.manifest)); err != nil {
		return fmt.Errorf("take it over: %w", err)
	}
	w.mine = true
	return nil
}

// mayTake says whether an object that is not the tenant's may become so.
func (w *writing) mayTake(m *metav1.PartialObjectMetadata) error {
	owner := w.cluster.holder(m, w.tenant, w.lives)
	if owner == "" && (w.was == "" || w.was != m.UID) {
		owner = w.cluster.foreign(m, w.manifest, w.tenant, w.lives)
	}
	if by := w.cluster.controlled(m); by != "" {
		// Not even by force: its controller would make it what it was, or another one.
		return &conflictError{owner: by}
	}
	if owner != "" && w.resource.ConflictPolicy != tenantv1.ConflictPolicyForce {
		return &conflictError{owner: owner}
	}
	// What was the tenant's, and is nobody else's, has only lost its marks.
	w.mine = owner == "" && w.was != "" && w.was == m.UID
	return nil
}

func (w *writing) strategy() tenantv1.PatchStrategy {
	if w.resource.PatchStrategy == "" {
		return tenantv1.PatchStrategyApply
	}
	return w.resource.PatchStrategy
}

func (w *writing) send(ctx context.Context) (*unstructured.Unstructured, error) {
	once := w.resource.CreationPolicy == tenantv1.CreationPolicyOnce
	if once && w.exists && (w.mine || w.made) {
		return w.read(ctx)
	}
	manifest, err := w.wanted(ctx, once)
	if err != nil {
		return nil, err
	}
	switch w.strategy() {
	case tenantv1.PatchStrategyMerge:
		return w.merge(ctx, manifest)
	case tenantv1.PatchStrategyReplace:
		return w.replace(ctx, manifest)
	}
	u := manifest.DeepCopy()
	options := []client.PatchOption{client.FieldOwner(tenantv1.FieldManager)}
	switch {
	case !w.exists:
		// What is not there has no version: if somebody has made it, the API refuses this, and nothing is mixed with what is
		// theirs. That saves a look for each new object.
		u.SetResourceVersion(noVersion)
	case w.mine || w.resource.ConflictPolicy == tenantv1.ConflictPolicyForce:
		options = append(options, client.ForceOwnership)
	}
	return u, w.cluster.client.Patch(ctx, u, yamltext.Apply, options...)
}

// wanted is the manifest without what others may say of the object: fields to ignore, and approvals of plans.
func (w *writing) wanted(ctx context.Context, once bool) (*unstructured.Unstructured, error) {
	manifest, ignored := w.manifest, len(w.resource.IgnoreFields) > 0 && !once
	concerns := approval.Concerns(manifest) && w.strategy() != tenantv1.PatchStrategyReplace
	var live *unstructured.Unstructured
	if w.exists && (ignored || concerns) {
		var err error
		if live, err = w.read(ctx); err != nil {
			return nil, err
		}
	}
	if live != nil && ignored {
		var err error
		if manifest, err = render.WithIgnored(manifest, live, w.resource.IgnoreFields); err != nil {
			return nil, err
		}
	}
	if concerns {
		manifest = approval.Omit(manifest, live)
	}
	return manifest, nil
}

// noVersion is the version that no object has: it was that of the store when there was nothing in it.
const noVersion = "1"

// isThere tells whether an object could not be made because there is one.
func isThere(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }

func (w *writing) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(w.manifest.GroupVersionKind())
	if err := w.cluster.client.Get(ctx, client.ObjectKeyFromObject(w.manifest), live); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return live, nil
}

// merge patches the object, or makes it. What others own of it stays theirs.
func (w *writing) merge(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u := manifest.DeepCopy()
	if !w.exists {
		return w.create(ctx, u)
	}
	live, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	kind := types.MergePatchType
	if clientgoscheme.Scheme.Recognizes(u.GroupVersionKind()) {
		kind = types.StrategicMergePatchType
	} else if refs := references(live, manifest); len(refs) > 0 {
		u.SetOwnerReferences(refs) // such a patch replaces lists
	}
	u.SetFinalizers(nil)
	content, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
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
	live, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	u = approval.CarryOver(u, live)
	u.SetResourceVersion(live.GetResourceVersion())
	u.SetUID(live.GetUID())
	u.SetFinalizers(live.GetFinalizers())
	u.SetOwnerReferences(references(live, manifest))
	return u, w.cluster.client.Update(ctx, u, client.FieldOwner(tenantv1.FieldManager))
}

func (w *writing) create(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return u, w.cluster.client.Create(ctx, u, client.FieldOwner(tenantv1.FieldManager))
}

// takeBack marks what was left behind, or was made once before, as the tenant's.
func (w *writing) takeBack(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := mergePatch(ctx, w.cluster, u, adopting(u, w.manifest)); err != nil {
		return nil, w.explain(fmt.Errorf("take it back: %w", err))
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

// fieldsOf are the fields of others that an apply would change; none when that is not what an error is about.
func fieldsOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []metav1.StatusCause
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, cause)
		}
	}
	return fields
}

// managers names those who own fields that an apply would change.
func managers(err error) string {
	var names []string
	for _, cause := range fieldsOf(err) {
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
	if w.cluster != nil {
		err = w.cluster.said(err)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the API does not serve the kind %s of %s", w.manifest.GetKind(), w.manifest.GetAPIVersion())
	}
	var own *targetError
	if w.manifest.GroupVersionKind().GroupKind() != secretKind || apierrors.IsForbidden(err) || errors.As(err, &own) ||
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
