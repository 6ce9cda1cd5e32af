// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// indexDependencies finds the stacks that depend on one: "namespace/name".
const indexDependencies = "yuba.dependencies"

// dependenciesOf names the stacks that one depends on, each once.
func dependenciesOf(t *infrav1.Terraform) []types.NamespacedName {
	var names []types.NamespacedName
	for _, d := range t.Spec.DependsOn {
		name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		if name.Namespace == "" {
			name.Namespace = t.Namespace
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// upstreamOf names the stacks that must come before one: those that it depends on, and those whose
// contracts it consumes.
func upstreamOf(t *infrav1.Terraform) []types.NamespacedName {
	names := dependenciesOf(t)
	for _, name := range producersOf(t) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// producersOf names the stacks whose contracts one consumes.
func producersOf(t *infrav1.Terraform) []types.NamespacedName {
	var names []types.NamespacedName
	for _, c := range t.Spec.Consumes {
		name := types.NamespacedName{Namespace: c.From.Namespace, Name: c.From.Name}
		if name.Namespace == "" {
			name.Namespace = t.Namespace
		}
		names = append(names, name)
	}
	return names
}

func dependencyNames(t *infrav1.Terraform) []string {
	var names []string
	for _, name := range dependenciesOf(t) {
		names = append(names, name.String())
	}
	return names
}

// usable reports whether one stack may depend on another. Across namespaces, the server must allow
// it, or a tenant could block the deletion of another tenant's stack.
func (f relatives) usable(from string, to types.NamespacedName) bool {
	return f.crossNamespace || from == to.Namespace
}

// dependants lists the stacks that depend on one, from the cache's index. They must not be changed.
func (f relatives) dependants(ctx context.Context, of types.NamespacedName) ([]infrav1.Terraform, error) {
	var list infrav1.TerraformList
	err := f.stacks.List(ctx, &list, client.MatchingFields{indexDependencies: of.String()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the stacks that depend on %s: %w", of, err)
	}
	return slices.DeleteFunc(list.Items, func(t infrav1.Terraform) bool {
		return !f.usable(t.Namespace, of) || client.ObjectKeyFromObject(&t) == of
	}), nil
}

// cached reads a stack from the cache, or returns nil. Do not change it.
func (f relatives) cached(ctx context.Context, name types.NamespacedName) (*infrav1.Terraform, error) {
	var t infrav1.Terraform
	err := f.stacks.Get(ctx, name, &t, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stack %s: %w", name, err)
	}
	return &t, nil
}

// gatherRelations reads the stack's dependencies and dependants.
func (f relatives) gatherRelations(ctx context.Context, p *gathered) error {
	own := client.ObjectKeyFromObject(p.obj)
	for _, name := range dependenciesOf(p.obj) {
		d, err := f.dependencyFacts(ctx, p, name)
		if err != nil {
			return err
		}
		p.facts.Dependencies = append(p.facts.Dependencies, d)
	}
	upstream := upstreamOf(p.obj)
	if len(upstream) == 0 {
		p.facts.Dependants = namesOf(p.dependants, own.Namespace, nil)
		return nil
	}
	// Only a stack with dependencies and dependants can be on a cycle.
	ways := ways{}
	if len(p.dependants) > 0 || publishes(p.obj) || slices.Contains(upstream, own) {
		var err error
		if ways, err = f.explore(ctx, p.obj); err != nil {
			return err
		}
	}
	p.facts.Cycle = ways.cycle(own)
	p.facts.CycleConsumes = p.facts.Cycle != "" && len(p.obj.Spec.Consumes) > 0
	p.facts.Dependants = namesOf(p.dependants, own.Namespace, ways)
	return nil
}

// namesOf names stacks, except those on a cycle: when a cycle is deleted, one must be first.
func namesOf(stacks []infrav1.Terraform, namespace string, but ways) []string {
	var names []string
	for i := range stacks {
		key := client.ObjectKeyFromObject(&stacks[i])
		if _, circular := but[key]; !circular {
			names = append(names, called(key, namespace))
		}
	}
	slices.Sort(names)
	return names
}

// called is the name of a stack as seen from a namespace.
func called(name types.NamespacedName, from string) string {
	if name.Namespace == from {
		return name.Name
	}
	return name.String()
}

func (f relatives) dependencyFacts(ctx context.Context, p *gathered, name types.NamespacedName) (decide.Dependency, error) {
	if !f.usable(p.obj.Namespace, name) {
		return decide.Dependency{Name: name.String(), Denied: true}, nil
	}
	d := decide.Dependency{Name: name.String()}
	t, err := f.cached(ctx, name)
	if err != nil {
		return d, err
	}
	if d.Missing = t == nil; d.Missing {
		p.dependencyOutputs = append(p.dependencyOutputs, name.String()+"=")
		return d, nil
	}
	p.dependencyOutputs = append(p.dependencyOutputs, name.String()+"="+t.Status.OutputsDigest)
	d.Deleting = !t.DeletionTimestamp.IsZero()
	d.Observed = t.Status.ObservedGeneration == t.Generation
	d.Ready = conditions.Of(t, infrav1.ConditionReady).Status == metav1.ConditionTrue
	d.SameSource = sourceOf(t) != "" && sourceOf(t) == sourceOf(p.obj)
	d.Revisions = []string{t.Status.LastPlannedRevision, t.Status.LastAppliedRevision}
	d.OutputsMissing, err = f.missingOutputs(ctx, t)
	return d, err
}

// sourceOf names the source of a stack's program; empty without a source.
func sourceOf(t *infrav1.Terraform) string {
	if _, inline := t.InlineProgram(); inline || t.Spec.SourceRef == nil {
		return ""
	}
	return t.Spec.SourceRef.Kind + "/" + t.SourceNamespace() + "/" + t.ProgramSource().Name
}

// missingOutputs names a stack's outputs Secret if it is missing although there are outputs.
func (f relatives) missingOutputs(ctx context.Context, t *infrav1.Terraform) (string, error) {
	out := t.Spec.WriteOutputsToSecret
	if known := t.Status.LastAppliedRevision != "" || t.Status.OutputsDigest != ""; out == nil || known && len(t.Status.AvailableOutputs) == 0 {
		return "", nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	name := types.NamespacedName{Namespace: t.Namespace, Name: out.Name}
	err := f.stacks.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		return name.String(), nil
	}
	if err != nil {
		return "", fmt.Errorf("find the outputs Secret %s: %w", name, err)
	}
	return "", nil
}

// ways maps each stack reached along dependsOn and consumes to the one it was reached from.
type ways map[types.NamespacedName]types.NamespacedName

// explore follows dependsOn and consumes, nearest first, until it returns to the stack or ends.
func (f relatives) explore(ctx context.Context, obj *infrav1.Terraform) (ways, error) {
	own := client.ObjectKeyFromObject(obj)
	reached := ways{}
	for queue := []*infrav1.Terraform{obj}; len(queue) > 0; queue = queue[1:] {
		from := client.ObjectKeyFromObject(queue[0])
		depends := dependenciesOf(queue[0])
		for _, name := range upstreamOf(queue[0]) {
			if _, seen := reached[name]; seen || slices.Contains(depends, name) && !f.usable(from.Namespace, name) {
				continue
			}
			reached[name] = from
			if name == own {
				continue
			}
			next, err := f.cached(ctx, name)
			if err != nil {
				return nil, err
			}
			if next != nil {
				queue = append(queue, next)
			}
		}
	}
	return reached, nil
}

// cycle describes the cycle through a stack, equal for all stacks on it: "a -> b -> a".
func (w ways) cycle(own types.NamespacedName) string {
	if _, ok := w[own]; !ok {
		return ""
	}
	round := []types.NamespacedName{own}
	for at := w[own]; at != own; at = w[at] {
		round = append(round, at)
	}
	slices.Reverse(round)
	first, namespace := 0, own.Namespace
	for i, name := range round {
		if strings.Compare(name.String(), round[first].String()) < 0 {
			first = i
		}
		if name.Namespace != namespace {
			namespace = ""
		}
	}
	var names []string
	for i := range len(round) + 1 {
		names = append(names, called(round[(first+i)%len(round)], namespace))
	}
	return strings.Join(names, " -> ")
}

// dependencyFinalizer shows that another stack depends on this one. Within a namespace it is
// tofu-controller's; otherwise it has the namespace, hashed if too long. Releases use dependsOn.
func dependencyFinalizer(dependant types.NamespacedName, namespace string) string {
	name := infrav1.DependencyFinalizerPrefix + dependant.Name
	if dependant.Namespace != namespace {
		name = infrav1.DependencyFinalizerPrefix + dependant.Namespace + "/" + dependant.Name
	}
	if len(validation.IsQualifiedName(name)) == 0 {
		return name
	}
	sum := sha256.Sum256([]byte(dependant.String()))
	return infrav1.DependencyFinalizerPrefix + hex.EncodeToString(sum[:16])
}

// finalizersFor returns Yuba's finalizer, one for each dependant, and the finalizers of others.
func finalizersFor(obj *infrav1.Terraform, dependants []infrav1.Terraform) []string {
	wanted := []string{infrav1.Finalizer}
	for i := range dependants {
		wanted = append(wanted, dependencyFinalizer(client.ObjectKeyFromObject(&dependants[i]), obj.Namespace))
	}
	slices.Sort(wanted[1:])
	// Keep the order, so that nothing is written when nothing changes.
	kept := slices.DeleteFunc(slices.Clone(obj.Finalizers), func(f string) bool {
		return strings.HasPrefix(f, infrav1.DependencyFinalizerPrefix) && !slices.Contains(wanted, f)
	})
	for _, f := range wanted {
		if !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// requests is the controller's workqueue.
type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// relations reconciles a stack when one that it depends on, or that depends on it, has changed.
func (f relatives) relations() handler.EventHandler {
	both := func(ctx context.Context, o client.Object, q requests) {
		t := o.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
		f.enqueueDependants(ctx, t, q)
		enqueue(q, dependenciesOf(t)...)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { both(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { both(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			was, is := e.ObjectOld.(*infrav1.Terraform), e.ObjectNew.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
			if tellsDependants(was, is) {
				f.enqueueDependants(ctx, is, q)
			}
			if before, now := dependenciesOf(was), dependenciesOf(is); !slices.Equal(before, now) {
				enqueue(q, before...)
				enqueue(q, now...)
			}
		},
	}
}

func (f relatives) enqueueDependants(ctx context.Context, t *infrav1.Terraform, q requests) {
	key := client.ObjectKeyFromObject(t)
	dependants, err := f.dependants(ctx, key)
	if err != nil {
		f.log.Error("cannot find the dependants of a stack", "stack", key.String(), "error", err)
	}
	for i := range dependants {
		enqueue(q, client.ObjectKeyFromObject(&dependants[i]))
	}
}

func enqueue(q requests, names ...types.NamespacedName) {
	for _, name := range names {
		q.Add(reconcile.Request{NamespacedName: name})
	}
}

// tellsDependants reports whether a change concerns dependants: the stack became ready, is ready
// with another revision or other outputs, is being deleted, or joined or left a cycle.
func tellsDependants(was, is *infrav1.Terraform) bool {
	if was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() {
		return true
	}
	before, now := conditions.Of(was, infrav1.ConditionReady), conditions.Of(is, infrav1.ConditionReady)
	circle := infrav1.ReasonDependencyCycle
	if before.Reason != now.Reason && (before.Reason == circle || now.Reason == circle) {
		return true
	}
	return now.Status == "True" && appearance(was) != appearance(is)
}

// appearanceOf returns the part of a stack that concerns dependants.
type appearanceOf struct {
	generation, observed                              int64
	ready, planned, applied, outputs, written, source string
}

func appearance(t *infrav1.Terraform) appearanceOf {
	s := &t.Status
	return appearanceOf{generation: t.Generation, observed: s.ObservedGeneration, ready: string(conditions.Of(t, infrav1.ConditionReady).Status),
		planned: s.LastPlannedRevision, applied: s.LastAppliedRevision, outputs: s.OutputsDigest,
		written: conditions.Of(t, infrav1.ConditionOutput).Reason, source: sourceOf(t)}
}
