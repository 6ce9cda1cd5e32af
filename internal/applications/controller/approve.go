// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Stack is the stack of an instance, whose kind is named by its plural. Of an instance with several
// objects it is the one that part names, or else the first whose plan waits, or else the first. It
// returns NotFound if there is no such instance or stack, or if the stack of that name is not the
// instance's: rights to an instance are none to stacks of others.
func (a *Applications) Stack(ctx context.Context, resource string, instance types.NamespacedName, part string) (*infrav1.Terraform, error) {
	name, k, ok := a.book.byResource(resource)
	missing := apierrors.NewNotFound(appv1.InstanceVersion.WithResource(resource).GroupResource(), strings.TrimSuffix(instance.Name+"/"+part, "/"))
	if !ok || k.backend == appv1.BackendHelm || part != "" && k.backend == appv1.BackendTerraform {
		return nil, missing
	}
	m, _ := a.instances.Look(Key{name, instance.Namespace, instance.Name}.id())
	if m == nil {
		return nil, missing
	}
	at := client.ObjectKey{Namespace: instance.Namespace, Name: k.prefix + instance.Name}
	if k.backend == appv1.BackendComposition {
		p := &pass{Applications: a, key: Key{name, instance.Namespace, instance.Name}, kind: k, meta: m, composed: &composed{}}
		if err := p.findStacks(ctx); err != nil {
			return nil, err
		}
		found := first(p.composed.parts, k.parsed, part)
		if found == nil {
			return nil, missing
		}
		at.Name = found.id.Name
	}
	stack := &infrav1.Terraform{}
	if err := a.Reader.Get(ctx, at, stack); apierrors.IsNotFound(err) {
		return nil, missing
	} else if err != nil {
		return nil, fmt.Errorf("read the stack %s: %w", at, err)
	}
	if !(ownership{m.UID}).mine(stack) {
		return nil, missing
	}
	return stack, nil
}

// PlanOf divides the id of a plan, as an instance's status has it, into the id of the part and that of
// its plan. Plans of an instance with several stacks have ids such as network/plan-1a2b3c4d5e. One without
// the part is refused: stacks with the same changes may have plans of the same id, and the person has seen
// only one of them.
func (a *Applications) PlanOf(resource, part, plan string) (string, string, error) {
	_, k, ok := a.book.byResource(resource)
	return planOf(ok && k.backend == appv1.BackendComposition, part, plan)
}

func planOf(several bool, part, plan string) (string, string, error) {
	if before, id, ok := strings.Cut(plan, "/"); ok {
		part, plan = before, id
		if part == "" || plan == "" {
			return "", "", fmt.Errorf("%s/%s is no id of a plan. The status of the instance has the id", part, plan)
		}
	}
	if several && part == "" {
		return "", "", fmt.Errorf("the instance has several stacks, and %s does not say of which one it is the plan. Write RESOURCE/%s, as in the status of the instance", plan, plan)
	}
	return part, plan, nil
}

// first is the stack that a part's id names, or else the first that waits for approval, or else the first
// one; nil for none. The order is that of the definition, if there is one.
func first(stacks []*component, d *definition.Definition, part string) (found *component) {
	place := func(c *component) int {
		id := c.live.Annotations[appv1.AnnotationResource]
		if d == nil || d.Composition == nil {
			return 0
		}
		return slices.IndexFunc(d.Composition.Resources, func(r *composition.Resource) bool { return r.ID == id })
	}
	slices.SortStableFunc(stacks, func(a, b *component) int { return place(a) - place(b) })
	for _, c := range stacks {
		switch {
		case part != "" && c.live.Annotations[appv1.AnnotationResource] != part:
		case part != "" || c.stack.AwaitsApproval():
			return c
		case found == nil:
			found = c
		}
	}
	return found
}

// Approved records on an instance who has approved its plan.
func (a *Applications) Approved(resource string, instance types.NamespacedName, plan, by string) {
	name, _, ok := a.book.byResource(resource)
	if !ok {
		return
	}
	m, _ := a.instances.Look(Key{name, instance.Namespace, instance.Name}.id())
	if m == nil {
		return
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(name))
	o.SetNamespace(m.Namespace)
	o.SetName(m.Name)
	o.SetUID(m.UID)
	reconciling.Event(a.Events, o, "Normal", "Approved", "Approve", fmt.Sprintf("%s has approved plan %s.", by, plan))
}
