// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// From manyNew new objects of a kind in a namespace on, the engine lists the existing ones
	// instead of trying each: a dry run costs about as much as an apply.
	manyNew = 20
	// Namespaces with more objects of a kind than this are not listed.
	listPage, listPages = 1000, 10
)

// heap is a kind in a namespace.
type heap struct {
	kind      schema.GroupVersionKind
	namespace string
}

// findAbsent marks items that do not exist, where many are new. It tries each if it may not list.
func (s *stage) findAbsent(ctx context.Context, items []*item) {
	if s.cluster.Watch == nil {
		return
	}
	heaps := map[heap][]*item{}
	for _, it := range items {
		if it.live == nil && !it.thorough {
			h := heap{it.manifest.GroupVersionKind(), it.id.Namespace}
			heaps[h] = append(heaps[h], it)
		}
	}
	for h, list := range heaps {
		if len(list) < manyNew {
			continue
		}
		there, ok := s.names(ctx, h)
		for _, it := range list {
			it.absent = ok && !there[it.id.Name]
		}
	}
}

// names lists the objects of a heap; ok is false when that is not possible.
func (s *stage) names(ctx context.Context, h heap) (names map[string]bool, ok bool) {
	names = map[string]bool{}
	next := ""
	for range listPages {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(h.kind.GroupVersion().WithKind(h.kind.Kind + "List"))
		if err := s.cluster.Client.List(ctx, list, client.InNamespace(h.namespace), client.Limit(listPage), client.Continue(next)); err != nil {
			return nil, false
		}
		for i := range list.Items {
			names[list.Items[i].Name] = true
		}
		if next = list.Continue; next == "" {
			return names, true
		}
	}
	return nil, false
}
