// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Stack is the stack of an instance, whose kind is named by its plural. It returns NotFound if there is
// no such instance, or if instances of the kind have no stacks.
func (a *Applications) Stack(resource string, instance types.NamespacedName) (types.NamespacedName, error) {
	name, k, ok := a.book.byResource(resource)
	missing := apierrors.NewNotFound(appv1.InstanceVersion.WithResource(resource).GroupResource(), instance.Name)
	if !ok || k.backend != appv1.BackendTerraform {
		return types.NamespacedName{}, missing
	}
	if m, _ := a.instances.Look(Key{name, instance.Namespace, instance.Name}.id()); m == nil {
		return types.NamespacedName{}, missing
	}
	return types.NamespacedName{Namespace: instance.Namespace, Name: k.prefix + instance.Name}, nil
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
