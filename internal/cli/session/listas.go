// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ListAs lists the objects of a kind, in a namespace or in all, as a type of which the client knows
// nothing.
func ListAs[T any](ctx context.Context, s *Session, k Kind, namespace string) ([]T, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List"))
	if err := s.Objects.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %s: %w", k.Plural, err)
	}
	var all []T
	for i := range list.Items {
		var o T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &o); err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", k.Plural, list.Items[i].GetNamespace(), list.Items[i].GetName(), err)
		}
		all = append(all, o)
	}
	return all, nil
}
