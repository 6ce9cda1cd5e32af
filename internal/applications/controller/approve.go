// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Stack is the stack of an instance, whose kind is named by its plural. It returns NotFound if there is
// no such instance or stack, if instances of the kind have no stacks, or if the stack of that name is not
// the instance's: rights to an instance are none to stacks of others.
func (a *Applications) Stack(ctx context.Context, resource string, instance types.NamespacedName) (*infrav1.Terraform, error) {
	name, k, ok := a.book.byResource(resource)
	missing := apierrors.NewNotFound(appv1.InstanceVersion.WithResource(resource).GroupResource(), instance.Name)
	if !ok || k.backend != appv1.BackendTerraform {
		return nil, missing
	}
	m, _ := a.instances.Look(Key{name, instance.Namespace, instance.Name}.id())
	if m == nil {
		return nil, missing
	}
	stack := &infrav1.Terraform{}
	at := client.ObjectKey{Namespace: instance.Namespace, Name: k.prefix + instance.Name}
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
