// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
)

// look is what memory has of a composed object besides its metadata.
type look struct {
	// status is JSON.
	status    json.RawMessage
	suspended bool
}

// lookAt makes the look of an object; only metadata matter of the kinds that are ready at once.
func lookAt(kind schema.GroupKind) func(*unstructured.Unstructured) any {
	if ready.Plain(kind) {
		return nil
	}
	return func(u *unstructured.Unstructured) any {
		l := &look{}
		l.status, _ = json.Marshal(u.Object["status"])                           //nolint:errchkjson // an object that came as JSON can be written as JSON
		l.suspended, _, _ = unstructured.NestedBool(u.Object, "spec", "suspend") //nolint:errcheck // what is not a truth is false
		return l
	}
}

// existing finds the objects of the instance: those in memory that it controls. A deletion also asks the
// API for those that the status or the last passes name, because memory may be behind.
func (p *pass) existing(ctx context.Context) error {
	c := p.composed
	known := p.named()
	kinds := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, ref := range known {
		kinds[ref.GroupKind] = ref.GroupKind.WithVersion(ref.Version)
	}
	if c.made != nil {
		for _, r := range c.made.Resources {
			kinds[r.GVK.GroupKind()] = r.GVK
		}
	}
	if err := p.followComposed(ctx, kinds); err != nil {
		return err
	}
	if err := p.findStacks(ctx); err != nil {
		return err
	}
	for kind, gvk := range kinds {
		p.findObjects(kind, gvk)
	}
	if !c.facts.Deleting {
		return nil
	}
	for _, ref := range known {
		if c.find(ref.ID) == nil {
			if err := p.askFor(ctx, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// named are the objects that the status and memory name. Others may write statuses, so it is checked
// whose they are.
func (p *pass) named() (refs []owned.Ref) {
	var was appv1.InstanceStatus
	if len(p.sight.status) > 0 && json.Unmarshal(p.sight.status, &was) == nil {
		for _, r := range was.Resources {
			gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
			if composable(gvk.GroupKind()) {
				refs = append(refs, owned.Ref{ID: owned.ID{GroupKind: gvk.GroupKind(), Namespace: p.key.Namespace, Name: r.Name}, Version: gvk.Version})
			}
		}
	}
	for id, one := range p.memory.get(p.key).pieces {
		refs = append(refs, owned.Ref{ID: id, Version: one.version})
	}
	return refs
}

// followComposed follows the kinds of objects, besides stacks and instances, which are followed anyway.
func (p *pass) followComposed(ctx context.Context, kinds map[schema.GroupKind]schema.GroupVersionKind) error {
	versions := map[schema.GroupKind]string{}
	for kind, gvk := range kinds {
		if kind.Group != infrav1.GroupVersion.Group && kind.Group != appv1.InstanceVersion.Group {
			versions[kind] = gvk.Version
		}
	}
	err := p.objects.Follow(ctx, owner(p.kind.definition), versions)
	var unwatched *owned.UnwatchedError
	if !errors.As(err, &unwatched) {
		return err
	}
	for _, why := range unwatched.Kinds {
		if !apimeta.IsNoMatchError(why) && !apierrors.IsNotFound(why) {
			return fmt.Errorf("follow the objects of %s: %w", p.key, err)
		}
	}
	p.again = missingAgain
	return nil
}

// findStacks finds the stacks of the instance in the cache.
func (p *pass) findStacks(ctx context.Context) error {
	var list infrav1.TerraformList
	err := p.Client.List(ctx, &list, client.InNamespace(p.key.Namespace), client.MatchingLabels{appv1.LabelKind: p.key.Kind, appv1.LabelName: p.key.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the stacks of %s: %w", p.key, err)
	}
	gvk := infrav1.GroupVersion.WithKind(infrav1.Kind)
	for i := range list.Items {
		t := &list.Items[i]
		if !(ownership{p.meta.UID}).mine(t) {
			continue
		}
		status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&t.Status)
		if err != nil {
			return fmt.Errorf("read the status of stack %s/%s: %w", t.Namespace, t.Name, err)
		}
		p.add(metadataOf(t, gvk), gvk, status).stack = t
		p.composed.parts[len(p.composed.parts)-1].spared = !t.Spec.DestroyResourcesOnDeletion
	}
	return nil
}

// findObjects finds the other objects of a kind.
func (p *pass) findObjects(kind schema.GroupKind, gvk schema.GroupVersionKind) {
	mine := func(m *metav1.PartialObjectMetadata, status json.RawMessage, spared bool) {
		if m.Namespace != p.key.Namespace || !(ownership{p.meta.UID}).mine(m) {
			return
		}
		var s map[string]any
		if len(status) > 0 {
			_ = utiljson.Unmarshal(status, &s) //nolint:errcheck // what is not a status is none
		}
		p.add(m, gvk, s).spared = spared
	}
	if kind.Group == appv1.InstanceVersion.Group {
		p.instances.Each(kind, func(m *metav1.PartialObjectMetadata, at any) {
			if s, ok := at.(*sight); ok {
				mine(m, s.status, m.Annotations[appv1.AnnotationAbandon] == string(m.UID))
			}
		})
		return
	}
	p.objects.Each(kind, func(m *metav1.PartialObjectMetadata, at any) {
		l, ok := at.(*look)
		if !ok {
			l = &look{suspended: true} // it makes nothing
		}
		mine(m, l.status, l.suspended)
	})
}

// add adds an object of the instance.
func (p *pass) add(m *metav1.PartialObjectMetadata, gvk schema.GroupVersionKind, status map[string]any) *component {
	content := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	content.SetGroupVersionKind(gvk)
	content.SetName(m.Name)
	content.SetNamespace(m.Namespace)
	content.SetGeneration(m.Generation)
	content.SetDeletionTimestamp(m.DeletionTimestamp)
	one := &component{id: owned.ID{GroupKind: gvk.GroupKind(), Namespace: m.Namespace, Name: m.Name}, gvk: gvk, live: m, content: content}
	p.composed.parts = append(p.composed.parts, one)
	return one
}

// askFor reads the metadata of an object from the API.
func (p *pass) askFor(ctx context.Context, ref owned.Ref) error {
	m := &metav1.PartialObjectMetadata{}
	gvk := ref.GroupKind.WithVersion(ref.Version)
	m.SetGroupVersionKind(gvk)
	err := p.instanceClient.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m)
	switch {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		p.memory.change(p.key, func(one *memo) { delete(one.pieces, ref.ID) })
	case err != nil:
		return fmt.Errorf("read %s of %s: %w", owned.Name(ref.ID), p.key, err)
	case (ownership{p.meta.UID}).mine(m):
		p.add(m, gvk, nil)
		p.again = behind * 10
	}
	return nil
}

// find finds an object; nil for none.
func (c *composed) find(id owned.ID) *component {
	for _, part := range c.parts {
		if part.id == id {
			return part
		}
	}
	return nil
}

// needs are the ids that are recorded with an object.
func (c *component) needs() []string {
	if c.live == nil || c.live.Annotations[appv1.AnnotationNeeds] == "" {
		return nil
	}
	return strings.Split(c.live.Annotations[appv1.AnnotationNeeds], ",")
}

// composable reports whether a composition may have made an object of a kind.
func composable(kind schema.GroupKind) bool {
	return kind.Group == appv1.InstanceVersion.Group || kind == infrav1.GroupVersion.WithKind(infrav1.Kind).GroupKind() ||
		kind == releases || kind.Group == "" && (kind.Kind == kindSecret || kind.Kind == "ConfigMap")
}

// pieceAsLeft is asLeft for one of several objects. Kinds without generations are compared by versions.
func (p *pass) pieceAsLeft(part *component) bool {
	now, m := owned.PrintOf(part.live), p.memory.get(p.key).pieces[part.id]
	if m.digest == part.digest && m.left.UID == now.UID && owned.Older(now.Version, m.left.Version) {
		return true
	}
	if part.live.Annotations[appv1.AnnotationMade] != part.digest {
		return false
	}
	if m.digest != part.digest || m.left.UID != now.UID {
		if now.Generation == 0 {
			return false // after a restart, one write finds out
		}
		p.memory.change(p.key, func(one *memo) { one.setPart(part, now, stampOf(part.live)) })
		return true
	}
	if now.Generation == 0 {
		return m.left.Version == now.Version
	}
	return m.left.Generation == now.Generation
}
