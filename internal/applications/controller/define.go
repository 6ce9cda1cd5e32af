// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/serving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// establishing is how often a kind is looked at until the API serves it.
const establishing = 20 * time.Millisecond

// troubleAfter is when a definition is tried again whose trouble no event ends.
const troubleAfter = 30 * time.Second

// maxWarnings is how many warnings a status has at most.
const maxWarnings = 32

// defining is a pass over a definition.
type defining struct {
	*Applications
	obj, before *appv1.ApplicationDefinition
	parsed      *definition.Definition
	// live is the kind that the API has; nil for none. theirs says whose it is, if not the definition's.
	live   *apiextensionsv1.CustomResourceDefinition
	theirs string
	// reason and problem say why the kind is not served as the definition says; empty if it is.
	reason, problem string
	// waits is true if the problem may go away by itself.
	waits bool
	// again is when to look again; 0 for never. recheck is when to compare the program again.
	again, recheck time.Duration
}

// define is a pass over a definition.
func (a *Applications) define(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &defining{Applications: a, obj: &appv1.ApplicationDefinition{}}
	if err := a.Client.Get(ctx, req.NamespacedName, p.obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p.before = p.obj.DeepCopy()
	if err := p.look(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !p.obj.DeletionTimestamp.IsZero() {
		done, err := p.remove(ctx)
		if done || err != nil {
			return reconciling.Again(err)
		}
	} else if controllerutil.AddFinalizer(p.obj, appv1.Finalizer) {
		if err := reconciling.SetFinalizers(ctx, a.Client, p.obj, p.before, p.obj.Finalizers); err != nil {
			return reconciling.Again(err)
		}
	}
	if err := p.check(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := p.serve(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if p.live == nil || p.theirs != "" || !established(p.live) {
		err := p.record(ctx)
		return ctrl.Result{RequeueAfter: p.next()}, err
	}
	if err := p.settle(ctx); err != nil {
		return reconciling.Again(err)
	}
	if err := p.follow(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := p.grant(ctx); err != nil {
		return reconciling.Again(err)
	}
	if err := p.record(ctx); err != nil {
		return ctrl.Result{}, err
	}
	// After a restart, the pass has only found out that a deleted definition has no instances.
	if !p.obj.DeletionTimestamp.IsZero() && len(p.names(p.obj.Spec.Application.Kind, 1)) == 0 {
		p.again = establishing
	}
	return ctrl.Result{RequeueAfter: p.next()}, nil
}

// next is when to look again.
func (p *defining) next() time.Duration { return cmp.Or(p.again, p.recheck) }

// look finds the kind that the API has.
func (p *defining) look(ctx context.Context) error {
	if err := p.served.Follow(ctx, owner(p.obj.Name), map[schema.GroupKind]string{crds: apiextensionsv1.SchemeGroupVersion.Version}); err != nil {
		return fmt.Errorf("follow the kinds of application definitions: %w", err)
	}
	name := serving.Name(p.obj.Spec.Application.Plural)
	live, err := p.kinds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kind %s: %w", name, err)
	}
	p.live = live
	by := live.Labels[appv1.LabelDefinition]
	switch {
	case by == p.obj.Name:
	case by == "":
		p.theirs = fmt.Sprintf("the API has a CustomResourceDefinition %s that Yuba did not make", name)
	default:
		// A definition that is gone rules no more.
		var other appv1.ApplicationDefinition
		switch err := p.Client.Get(ctx, client.ObjectKey{Name: by}, &other); {
		case err == nil:
			p.theirs = fmt.Sprintf("the definition %s serves the kind", by)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read the definition %s: %w", by, err)
		}
	}
	return nil
}

// check finds out whether the definition can be served.
func (p *defining) check(ctx context.Context) error {
	var list appv1.ApplicationDefinitionList
	if err := p.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the application definitions: %w", err)
	}
	var all []*appv1.ApplicationDefinition
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	parsed, found := definition.Parse(p.obj)
	p.obj.Status.Warnings = nil
	p.warnAll(found.Of(finding.Warning))
	foreign, err := p.foreign(ctx)
	if err != nil {
		return err
	}
	switch conflict := definition.Conflict(p.obj, all, p.serves()); {
	case foreign != "":
		p.reason, p.problem, p.again = appv1.ReasonForeign, foreign, troubleAfter
	case conflict != "":
		p.reason, p.problem = appv1.ReasonConflict, conflict
	case p.theirs != "":
		p.reason, p.problem, p.again = appv1.ReasonForeign, p.theirs, troubleAfter
	case definition.Cycle(p.obj, all) != "":
		p.reason, p.problem = appv1.ReasonCycle, "the kinds would make each other without end: "+definition.Cycle(p.obj, all)+". Remove one of these resources"
	case parsed == nil:
		p.reason, p.problem = appv1.ReasonInvalid, found.Of(finding.Error).String()
	default:
		p.parsed = parsed
		p.compare(ctx)
	}
	return nil
}

// warnAll adds warnings to the status.
func (p *defining) warnAll(list finding.List) {
	for _, w := range list {
		if len(p.obj.Status.Warnings) < maxWarnings {
			p.obj.Status.Warnings = append(p.obj.Status.Warnings, w.String())
		}
	}
}

// serves reports whether the API has the kind of a definition.
func (p *defining) serves() func(name string) bool {
	by := map[string]bool{}
	p.served.Each(crds, func(m *metav1.PartialObjectMetadata, _ any) { by[m.Labels[appv1.LabelDefinition]] = true })
	if p.live != nil {
		by[p.live.Labels[appv1.LabelDefinition]] = true // memory may not know it yet
	}
	return func(name string) bool { return by[name] }
}

// foreign says which other server serves the kinds; empty for none.
func (p *defining) foreign(ctx context.Context) (string, error) {
	service := &metav1.PartialObjectMetadata{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	name := appv1.InstanceVersion.Version + "." + appv1.InstanceVersion.Group
	err := p.Reader.Get(ctx, client.ObjectKey{Name: name}, service)
	switch {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) || apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask who serves %s: %w", appv1.InstanceVersion, err)
	}
	const automatic = "kube-aggregator.kubernetes.io/automanaged" // for kinds that the API server has itself
	if _, own := service.Labels[automatic]; own {
		return "", nil
	}
	return fmt.Sprintf("another API server serves %s (APIService %s), such as Cozystack's. Remove it first: Yuba serves the kinds as definitions of the API itself", appv1.InstanceVersion, name), nil
}

// serve writes the kind, unless living instances do not fit it.
func (p *defining) serve(ctx context.Context) error {
	if p.parsed == nil {
		return nil
	}
	want, err := serving.Kind(p.parsed)
	if err != nil {
		return err
	}
	if p.obj.DeletionTimestamp.IsZero() && limits(p.obj) && revisions.Accepted(p.obj) == "" {
		p.reason, p.problem, p.parsed = appv1.ReasonInvalid, tooLarge(p.obj), nil // it could never be a base
		return nil
	}
	var ledger revisions.Ledger
	if p.live != nil {
		ledger = revisions.Read(p.live.Annotations)
	}
	if p.live != nil && p.live.Annotations[appv1.AnnotationMade] == want.Annotations[appv1.AnnotationMade] && ledger.Has(p.obj) {
		return nil
	}
	if !p.obj.DeletionTimestamp.IsZero() {
		p.parsed = nil // a change of a deleted definition is not accepted
		return nil
	}
	if p.live != nil && p.live.Labels[appv1.LabelDefinition] == p.obj.Name {
		if stranded := p.stranded(ctx); stranded != "" {
			p.reason, p.problem, p.parsed = appv1.ReasonStrands, stranded, nil
			return nil
		}
	}
	ledger, whole := ledger.Accept(p.obj, p.Now())
	if !whole && limits(p.obj) {
		p.reason, p.problem, p.parsed = appv1.ReasonInvalid, tooLarge(p.obj), nil
		return nil
	}
	ledger.Write(want.Annotations)
	live, err := p.write(ctx, want)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		p.reason, p.problem, p.parsed = appv1.ReasonRefused, "the API refuses the kind: "+err.Error(), nil
	case err != nil:
		return fmt.Errorf("write the kind of definition %s: %w", p.obj.Name, err)
	default:
		p.live = live
	}
	return nil
}

func (p *defining) write(ctx context.Context, want *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := json.Marshal(map[string]any{"apiVersion": want.APIVersion, "kind": want.Kind, "spec": want.Spec,
		"metadata": map[string]any{"name": want.Name, "labels": want.Labels, "annotations": want.Annotations}})
	if err != nil {
		return nil, err
	}
	return p.kinds.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, want.Name, types.ApplyPatchType, content,
		metav1.PatchOptions{FieldManager: appv1.FieldManager, Force: ptr.To(true)})
}

// follow puts the kind into force, and follows its instances.
func (p *defining) follow(ctx context.Context) error {
	name := p.obj.Spec.Application.Kind
	k := kind{definition: p.obj.Name, backend: appv1.BackendType(p.live.Annotations[appv1.AnnotationBackend]), prefix: p.live.Annotations[appv1.AnnotationPrefix],
		resource: p.obj.Spec.Application.Plural, parsed: p.parsed}
	before, _ := p.book.get(name)
	p.enforce(&k, before)
	if k.parsed == nil {
		k.problem = fmt.Sprintf("the definition %s cannot be used: %s", p.obj.Name, p.problem)
	}
	k.unused = p.unused(&k)
	news := p.book.put(name, k)
	if err := p.instances.Follow(ctx, owner(p.obj.Name), version(groupKind(name))); err != nil {
		// The API serves a new kind a moment later.
		p.Log.Debug("cannot follow an application kind yet", "kind", name, "error", err)
		p.again = establishing
		return nil
	}
	if news {
		p.wake(name)
		for maker, k := range p.book.all() {
			if k.parsed != nil && k.parsed.Composition != nil && slices.Contains(k.parsed.Composition.Kinds(), name) {
				p.wake(maker)
			}
		}
	}
	if k.wave != nil {
		k.wave.begin()
		p.rollQueue.Add(name, 0)
	}
	return nil
}

// remove deletes the kind of a deleted definition once it has no instances.
func (p *defining) remove(ctx context.Context) (done bool, err error) {
	if !slices.Contains(p.obj.Finalizers, appv1.Finalizer) {
		return true, nil
	}
	name := p.obj.Spec.Application.Kind
	mine := p.live != nil && p.theirs == ""
	if mine && p.live.DeletionTimestamp.IsZero() {
		if _, known := p.book.get(name); !known || len(p.names(name, 1)) > 0 {
			return false, nil // its instances are followed first
		}
		err := p.kinds.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, p.live.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.live.UID}})
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("delete the kind %s: %w", p.live.Name, err)
		}
		p.again = establishing
		return false, nil
	}
	if mine {
		p.again = establishing
		return false, nil
	}
	p.unfollow(p.obj.Name)
	if k, ok := p.book.get(name); ok && k.definition == p.obj.Name {
		p.book.drop(name)
	}
	p.granted.Delete(p.obj.UID)
	controllerutil.RemoveFinalizer(p.obj, appv1.Finalizer)
	return true, client.IgnoreNotFound(reconciling.SetFinalizers(ctx, p.Client, p.obj, p.before, p.obj.Finalizers))
}

// unfollow ends all watches of a definition that others do not need.
func (a *Applications) unfollow(definition string) {
	for _, watch := range []*owned.Watch{a.instances, a.served, a.objects, a.releases, a.parts} {
		watch.Keep(owner(definition), nil)
	}
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// refusedNames says why the API does not accept the names of a kind; empty if it does.
func refusedNames(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}
