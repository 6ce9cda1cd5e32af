// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

const (
	// maxDepth limits how many instances make each other. Definitions that form a cycle are refused; this
	// ends one that two definitions close at the same moment.
	maxDepth = 8
	// takenAgain is when a write is tried again whose name somebody else had.
	takenAgain = 30 * time.Second
)

// composed is what a pass knows of an instance with several objects.
type composed struct {
	// made is the composition; nil if no definition can be followed.
	made  *composition.Composition
	facts decide.Composed
	// parts are in the order of facts.Parts.
	parts []*component
	seen  map[string]composition.Seen
	// instance is what expressions read.
	instance *composition.Instance
	decided  decide.Composite
}

// component is an object of the instance, or one to be.
type component struct {
	id  owned.ID
	gvk schema.GroupVersionKind
	// resource is nil for an object that the definition does not make.
	resource *composition.Resource
	// live is the object's metadata, and content its kind, metadata and status; nil for none.
	live    *metav1.PartialObjectMetadata
	content *unstructured.Unstructured
	stack   *infrav1.Terraform
	// spared: its deletion leaves what it made.
	spared   bool
	manifest *unstructured.Unstructured
	digest   string
}

// reconcileComposed is a pass over an instance with several objects.
func (a *Applications) reconcileComposed(ctx context.Context, p *pass) (ctrl.Result, error) {
	p.composed = &composed{seen: map[string]composition.Seen{}}
	if err := p.gatherComposed(ctx); err != nil {
		return ctrl.Result{}, err
	}
	d := decide.Compose(p.composed.facts)
	d, err := p.actComposed(ctx, d)
	p.takePartComposed(d)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	if err != nil || d.Verb == decide.Release {
		return ctrl.Result{}, err
	}
	p.composed.decided = d
	err = p.record(ctx, decide.Decision{Verb: d.Verb, Standing: d.Standing})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	return ctrl.Result{RequeueAfter: p.again}, err
}

// gatherComposed collects the facts.
func (p *pass) gatherComposed(ctx context.Context) error {
	c, f := p.composed, &p.composed.facts
	f.Deleting, f.Kept = p.meta.DeletionTimestamp != nil, slices.Contains(p.sight.finalizers, appv1.Finalizer)
	f.Abandon = p.meta.Annotations[appv1.AnnotationAbandon] == string(p.meta.UID)
	f.Definition, f.Moved = p.kind.problem, moving.Held(p.meta)
	p.facts.Moved = f.Moved
	f.Approve = fmt.Sprintf("yuba app approve %s %s -n %s", strings.ToLower(p.key.Kind), p.key.Name, p.key.Namespace)
	f.Abandoning = fmt.Sprintf("yuba kubectl annotate %s.%s %s -n %s %s=%s", p.kind.resource, appv1.InstanceVersion.Group, p.key.Name, p.key.Namespace, appv1.AnnotationAbandon, p.meta.UID)
	// The kinds of the newest definition are followed, and also those that the status names.
	if p.kind.parsed != nil && f.Definition == "" && f.Moved == "" && !f.Deleting {
		c.made = p.kind.parsed.Composition
	}
	if err := p.existing(ctx); err != nil {
		return err
	}
	if c.made != nil {
		if err := p.chooseComposed(ctx); err != nil {
			return err
		}
	}
	if c.made == nil {
		c.order(nil)
		return nil
	}
	if p.depth() > maxDepth {
		f.Refused = fmt.Sprintf("More than %d instances make each other. Remove the cycle of their definitions", maxDepth)
	}
	return p.want(ctx)
}

// depth is how many instances made each other until this one.
func (p *pass) depth() (n int) {
	for at := p.meta; at != nil && n <= maxDepth; n++ {
		parents := instancesOf(at)
		if len(parents) == 0 {
			return n
		}
		at, _ = p.instances.Look(parents[0].id())
	}
	return n
}

// actComposed does what is decided. A write may find what the facts did not tell.
func (p *pass) actComposed(ctx context.Context, d decide.Composite) (decide.Composite, error) {
	if d.Verb == decide.Release {
		p.memory.forget(p.key)
		rest := slices.DeleteFunc(slices.Clone(p.sight.finalizers), func(f string) bool { return f == appv1.Finalizer })
		return d, client.IgnoreNotFound(p.setFinalizers(ctx, rest))
	}
	if d.Verb == decide.Keep {
		if err := p.setFinalizers(ctx, append(slices.Clone(p.sight.finalizers), appv1.Finalizer)); err != nil {
			return d, err
		}
		p.composed.facts.Kept = true
	}
	news := false
	for _, action := range d.Actions {
		part := p.composed.parts[action.Part]
		var err error
		switch action.Verb {
		case decide.Write:
			if !p.composed.facts.Kept {
				if err := p.setFinalizers(ctx, append(slices.Clone(p.sight.finalizers), appv1.Finalizer)); err != nil {
					return d, err
				}
				p.composed.facts.Kept = true
			}
			var found bool
			found, err = p.writePiece(ctx, part, &p.composed.facts.Parts[action.Part])
			news = news || found
		case decide.Spare:
			err = p.sparePart(ctx, part)
		case decide.Delete:
			err = p.deletePart(ctx, part)
		case decide.Rest, decide.Keep, decide.Release:
		}
		if err != nil {
			return d, err
		}
	}
	if news {
		return decide.Compose(p.composed.facts), nil // its other actions are done
	}
	return d, nil
}

// writePiece writes an object. It notes in the facts why that cannot be done.
func (p *pass) writePiece(ctx context.Context, part *component, fact *decide.Part) (news bool, err error) {
	mark := p.stampPart(part)
	written, err := p.writeFixed(ctx, p.direct, engine.Write{Manifest: mark.add(part.manifest), Ownership: ownership{p.meta.UID}, Live: part.live, Force: part.live != nil}, false)
	var conflict *engine.ConflictError
	switch {
	case errors.As(err, &conflict):
		fact.Holder, p.again = fmt.Sprintf("%s %s: %s. Choose another name for the instance", part.gvk.Kind, part.id.Name, conflict.Error()), takenAgain
		return true, nil
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err):
		if apierrors.IsForbidden(err) {
			p.again = troubleAfter // room in a quota is no event
		}
		fact.Invalid = "the API refuses it: " + err.Error()
		if part.gvk.Kind == kindSecret {
			fact.Invalid = "the API refuses it" // an error may quote it
		}
		return true, nil
	case apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) && part.live == nil:
		fact.Missing, p.again = unserved(part.gvk.Kind), missingAgain
		return true, nil
	case err != nil:
		return false, fmt.Errorf("write %s of %s: %w", owned.Name(part.id), p.key, err)
	}
	p.memory.change(p.key, func(m *memo) { m.setPart(part, owned.PrintOf(written), mark) })
	p.part.wrote(mark)
	return false, nil
}

const kindSecret = "Secret"

func unserved(kind string) string {
	return fmt.Sprintf("This API does not serve the kind %s. It is created once the API does", kind)
}

// sparePart tells an object to leave what it made when it is deleted.
func (p *pass) sparePart(ctx context.Context, part *component) error {
	patch := map[string]any{"metadata": map[string]any{"uid": part.live.UID}, "spec": map[string]any{"suspend": true}}
	switch {
	case part.gvk.Group == infrav1.GroupVersion.Group:
		patch["spec"] = map[string]any{"destroyResourcesOnDeletion": false}
	case part.gvk.Group == appv1.InstanceVersion.Group:
		patch = map[string]any{"metadata": map[string]any{"uid": part.live.UID, "annotations": map[string]any{appv1.AnnotationAbandon: string(part.live.UID)}}}
	}
	if err := engine.MergePatch(ctx, p.instanceClient, appv1.FieldManager, part.target(), patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let %s of %s leave what it made: %w", owned.Name(part.id), p.key, err)
	}
	return nil
}

func (p *pass) deletePart(ctx context.Context, part *component) error {
	err := p.instanceClient.Delete(ctx, part.target(), client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &part.live.UID})
	if client.IgnoreNotFound(err) != nil && !apimeta.IsNoMatchError(err) {
		return fmt.Errorf("delete %s of %s: %w", owned.Name(part.id), p.key, err)
	}
	return nil
}

// target names the object in a request.
func (c *component) target() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: c.id.Namespace, Name: c.id.Name}}
	o.SetGroupVersionKind(c.gvk)
	return o
}
