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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

const (
	// behind is when a pass is tried again whose memory has not seen its last write yet.
	behind = 10 * time.Millisecond
	// missingAgain is when the API is asked again for a kind that it did not serve.
	missingAgain = 10 * time.Second
)

// pass is a pass over an instance.
type pass struct {
	*Applications
	key  Key
	kind kind
	// meta and sight are the instance. Do not change them.
	meta  *metav1.PartialObjectMetadata
	sight *sight
	// manifest is the wanted object, digest its digest; nil if none can be made.
	manifest *unstructured.Unstructured
	digest   string
	// stack or release is the object; both are nil for none.
	stack   *infrav1.Terraform
	release *releaseSight
	live    *metav1.PartialObjectMetadata
	tenant  tenantPass
	// revision is that of the definition from which the manifest is made; part is the instance's part in
	// the rollout.
	revision int64
	part     part
	facts    decide.Facts
	// composed is set for an instance with several objects, instead of those above.
	composed *composed
	// again is when to look again; 0 for never.
	again time.Duration
}

// reconcile is a pass over an instance.
func (a *Applications) reconcile(ctx context.Context, key Key) (ctrl.Result, error) {
	k, ok := a.book.get(key.Kind)
	if !ok {
		return ctrl.Result{}, nil
	}
	meta, look := a.instances.Look(key.id())
	at, ok := look.(*sight)
	if meta == nil || !ok {
		a.memory.forget(key)
		a.tenants.wait(key, false)
		a.leave(k, key)
		return ctrl.Result{}, nil
	}
	if owned.Older(meta.ResourceVersion, a.memory.get(key).version) {
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	if k.backend == appv1.BackendTenant {
		end, ok := a.tenants.turn()
		if !ok {
			return ctrl.Result{RequeueAfter: occupied}, nil
		}
		defer end()
	}
	p := &pass{Applications: a, key: key, kind: k, meta: meta, sight: at, revision: k.target}
	if k.backend == appv1.BackendComposition {
		return a.reconcileComposed(ctx, p)
	}
	if err := p.gather(ctx); err != nil {
		return ctrl.Result{}, err
	}
	d := decide.Instance(p.facts)
	d, err := p.act(ctx, d)
	p.takePart(d)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	if err != nil || d.Verb == decide.Release {
		return ctrl.Result{}, err
	}
	err = p.record(ctx, d)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	return ctrl.Result{RequeueAfter: p.again}, err
}

// gather collects the facts.
func (p *pass) gather(ctx context.Context) error {
	f := &p.facts
	f.Deleting, f.Kept = p.meta.DeletionTimestamp != nil, slices.Contains(p.sight.finalizers, appv1.Finalizer)
	f.Abandon = p.meta.Annotations[appv1.AnnotationAbandon] == string(p.meta.UID)
	f.Definition, f.Moved = p.kind.problem, moving.Held(p.meta)
	f.Approve = fmt.Sprintf("yuba app approve %s %s -n %s", strings.ToLower(p.key.Kind), p.key.Name, p.key.Namespace)
	f.Abandoning = fmt.Sprintf("yuba kubectl annotate %s.%s %s -n %s %s=%s", p.kind.resource, appv1.InstanceVersion.Group, p.key.Name, p.key.Namespace, appv1.AnnotationAbandon, p.meta.UID)
	if p.kind.backend == appv1.BackendTenant {
		return p.findTenant(ctx)
	}
	if p.kind.parsed != nil && f.Definition == "" && !f.Deleting {
		if err := p.render(ctx); err != nil {
			return err
		}
	}
	if p.kind.backend == appv1.BackendTerraform {
		return p.findStack(ctx)
	}
	return p.findRelease(ctx)
}

// render makes the wanted object of the definition in force.
func (p *pass) render(ctx context.Context) error {
	i, err := p.instance(ctx)
	if err != nil {
		return err
	}
	var refused *render.NotAllowedError
	p.manifest, p.digest, err = made(p.kind.parsed, i)
	switch {
	case errors.As(err, &refused):
		p.facts.Refused = sentence(refused.Says)
	case err != nil:
		p.facts.Invalid = sentence(err.Error())
	}
	p.part.instance = i
	return nil
}

// made makes the object of an instance, and its digest.
func made(d *definition.Definition, i *render.Instance) (u *unstructured.Unstructured, digest string, err error) {
	if d.Backend == appv1.BackendTerraform {
		var stack *infrav1.Terraform
		if stack, err = render.Terraform(d, i); err == nil {
			// The controller of stacks adds it to each. Setting it here saves a write.
			stack.Finalizers = []string{infrav1.Finalizer}
			var content map[string]any
			content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(stack)
			u = &unstructured.Unstructured{Object: content}
		}
	} else {
		u, err = render.HelmRelease(d, i)
	}
	if err != nil {
		return nil, "", err
	}
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	digest, err = seal(u)
	return u, digest, err
}

// seal adds its digest to a manifest, and returns it.
func seal(u *unstructured.Unstructured) (string, error) {
	digest, err := owned.Digest(u)
	if err != nil {
		return "", err
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	text := fmt.Sprintf("sha256:%x", digest)
	annotations[appv1.AnnotationMade] = text
	u.SetAnnotations(annotations)
	return text, nil
}

// instance is the instance for rendering.
func (p *pass) instance(ctx context.Context) (*render.Instance, error) {
	i := &render.Instance{Kind: p.key.Kind, Namespace: p.key.Namespace, Name: p.key.Name, UID: p.meta.UID, Labels: p.meta.Labels, Annotations: p.meta.Annotations}
	if len(p.sight.spec) > 0 && string(p.sight.spec) != "null" {
		if err := utiljson.Unmarshal(p.sight.spec, &i.Spec); err != nil {
			return nil, fmt.Errorf("read the spec of %s: %w", p.key, err)
		}
	}
	if !p.kind.parsed.Choosable() {
		return i, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := p.Client.Get(ctx, client.ObjectKey{Name: p.key.Namespace}, namespace); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the namespace %s: %w", p.key.Namespace, err)
	}
	i.Identity = namespace.Annotations[appv1.AnnotationIdentity]
	return i, nil
}

// act does what is decided. It may find what the facts did not tell.
func (p *pass) act(ctx context.Context, d decide.Decision) (decide.Decision, error) {
	switch d.Verb {
	case decide.Write:
		if p.kind.backend == appv1.BackendTenant {
			return p.writeTenant(ctx, d)
		}
		return p.write(ctx, d)
	case decide.Keep:
		return d, p.keep(ctx)
	case decide.Spare:
		return d, p.spare(ctx)
	case decide.Delete:
		return d, p.remove(ctx)
	case decide.Release:
		if err := p.giveBack(ctx); err != nil {
			return d, err
		}
		p.memory.forget(p.key)
		rest := slices.DeleteFunc(slices.Clone(p.sight.finalizers), func(f string) bool { return f == appv1.Finalizer })
		return d, client.IgnoreNotFound(p.setFinalizers(ctx, rest))
	case decide.Rest:
	}
	return d, nil
}

// keep adds the finalizer to the instance.
func (p *pass) keep(ctx context.Context) error {
	return p.setFinalizers(ctx, append(slices.Clone(p.sight.finalizers), appv1.Finalizer))
}

// write keeps the instance, and writes its object.
func (p *pass) write(ctx context.Context, d decide.Decision) (decide.Decision, error) {
	if !p.facts.Kept {
		if err := p.keep(ctx); err != nil {
			return d, err
		}
	}
	var live *metav1.PartialObjectMetadata
	if p.live != nil {
		live = p.live
	}
	mark := p.stamp()
	written, err := p.engine.Write(ctx, p.cluster, engine.Write{Manifest: mark.add(p.manifest), Ownership: ownership{p.meta.UID}, Live: live, Force: live != nil})
	var conflict *engine.ConflictError
	switch {
	case errors.As(err, &conflict):
		p.facts.Holder = fmt.Sprintf("%s %s: %s. Choose another name for the instance", p.manifest.GetKind(), p.manifest.GetName(), conflict.Error())
		return decide.Instance(p.facts), nil
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		p.facts.Invalid = "the API refuses the object behind it: " + err.Error()
		return decide.Instance(p.facts), nil
	case apierrors.IsForbidden(err):
		p.facts.Invalid, p.again = "the API refuses the object behind it: "+err.Error(), troubleAfter // room in a quota is no event
		return decide.Instance(p.facts), nil
	case apimeta.IsNoMatchError(err):
		p.facts.Missing = p.missing()
		return decide.Instance(p.facts), nil
	case err != nil:
		return d, fmt.Errorf("write the object of %s: %w", p.key, err)
	}
	p.memory.change(p.key, func(m *memo) { m.digest, m.left, m.stamp = p.digest, owned.PrintOf(written), mark })
	p.part.wrote(mark)
	return d, nil
}

// spare tells the object to leave what it made when it is deleted.
func (p *pass) spare(ctx context.Context) error {
	spec := map[string]any{"destroyResourcesOnDeletion": false}
	if p.stack == nil {
		spec = map[string]any{"suspend": true} // Flux uninstalls no suspended release
	}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: p.live.Namespace, Name: p.live.Name}}
	o.SetGroupVersionKind(p.live.GroupVersionKind())
	patch := map[string]any{"metadata": map[string]any{"uid": p.live.UID}, "spec": spec}
	if err := engine.MergePatch(ctx, p.Client, appv1.FieldManager, o, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let the object of %s leave what it made: %w", p.key, err)
	}
	return nil
}

// remove deletes the object.
func (p *pass) remove(ctx context.Context) error {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: p.live.Namespace, Name: p.live.Name}}
	o.SetGroupVersionKind(p.live.GroupVersionKind())
	err := p.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &p.live.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the object of %s: %w", p.key, err)
	}
	return nil
}

// setFinalizers writes the finalizers of the instance.
func (p *pass) setFinalizers(ctx context.Context, finalizers []string) error {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(p.key.Kind))
	content, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.meta.UID, "resourceVersion": p.meta.ResourceVersion, "finalizers": finalizers}})
	if err != nil {
		return err
	}
	if err := p.instanceClient.Patch(ctx, o, client.RawPatch("application/merge-patch+json", content), client.FieldOwner(appv1.FieldManager)); err != nil {
		return fmt.Errorf("set the finalizers of %s: %w", p.key, err)
	}
	if slices.Contains(finalizers, appv1.Finalizer) {
		p.memory.change(p.key, func(m *memo) { m.version = o.ResourceVersion })
	}
	return nil
}
