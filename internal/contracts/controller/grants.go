// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// namespaceKind is the kind whose metadata has the labels of namespaces.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// grants reports whether stacks of a namespace may consume a contract. A selector that cannot be
// evaluated grants nothing.
func (b *Book) grants(ctx context.Context, c *yubav1.Contract, namespace string) (bool, error) {
	if c.Namespace == namespace {
		return true, nil
	}
	return b.GrantedBy(ctx, c.Spec.Grants, namespace)
}

// GrantedBy reports whether a list of grants names a namespace.
func (b *Book) GrantedBy(ctx context.Context, grants []yubav1.ContractGrant, namespace string) (bool, error) {
	var labelsOf labels.Set
	for _, g := range grants {
		if slices.Contains(g.Namespaces, namespace) {
			return true, nil
		}
		if g.Selector == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(g.Selector)
		if err != nil {
			continue
		}
		if labelsOf == nil {
			if labelsOf, err = b.labels(ctx, namespace); err != nil {
				return false, err
			}
		}
		if selector.Matches(labelsOf) {
			return true, nil
		}
	}
	return false, nil
}

// labels are the labels of a namespace.
func (b *Book) labels(ctx context.Context, namespace string) (labels.Set, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(namespaceKind)
	err := b.Cache.Get(ctx, types.NamespacedName{Name: namespace}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the labels of namespace %s, by which a contract grants: %w", namespace, err)
	}
	if o.Labels == nil {
		return labels.Set{}, nil
	}
	return o.Labels, nil
}
