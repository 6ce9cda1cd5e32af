// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
)

// ours are the values of spec.controller of stores that this server works on.
var ours = []string{"", "yuba"}

// storeFor opens the store that an ExternalSecret of a namespace names.
func (r *Reconciler) storeFor(ctx context.Context, namespace string, ref externalv1.SecretStoreRef) (remote.Store, error) {
	c := credentials{r: r, namespace: namespace}
	var spec *externalv1.SecretStoreSpec
	var err error
	if ref.Kind == externalv1.ClusterSecretStoreKind {
		var s externalv1.ClusterSecretStore
		if r.Namespaced {
			return nil, problem("this server works on some namespaces only, and reads no ClusterSecretStore. Use a SecretStore")
		}
		err = r.Client.Get(ctx, types.NamespacedName{Name: ref.Name}, &s)
		spec, c.clusterWide = &s.Spec, true
	} else {
		var s externalv1.SecretStore
		err = r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &s)
		spec = &s.Spec
	}
	if apierrors.IsNotFound(err) {
		return nil, problem("%s %s does not exist", kindOf(ref), ref.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kindOf(ref), ref.Name, err)
	}
	if !slices.Contains(ours, spec.Controller) {
		return nil, &otherError{spec.Controller}
	}
	if c.clusterWide {
		if err := r.admits(ctx, spec, namespace, ref.Name); err != nil {
			return nil, err
		}
	}
	s, err := c.open(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kindOf(ref), ref.Name, err)
	}
	return s, nil
}

// admits fails if the conditions of a ClusterSecretStore do not allow a namespace.
func (r *Reconciler) admits(ctx context.Context, spec *externalv1.SecretStoreSpec, namespace, name string) error {
	if len(spec.Conditions) == 0 {
		return nil
	}
	var marks labels.Set
	for _, c := range spec.Conditions {
		if c.NamespaceSelector == nil || marks != nil {
			continue
		}
		var n corev1.Namespace
		if err := r.Direct.Get(ctx, types.NamespacedName{Name: namespace}, &n); err != nil {
			return fmt.Errorf("read the labels of namespace %s, for the conditions of ClusterSecretStore %s: %w", namespace, name, err)
		}
		marks = labels.Set(n.Labels)
	}
	for _, c := range spec.Conditions {
		ok, err := allows(c, namespace, marks)
		if err != nil {
			return problem("ClusterSecretStore %s: %v", name, err)
		}
		if ok {
			return nil
		}
	}
	return problem("ClusterSecretStore %s does not allow the namespace %s: none of its conditions selects it", name, namespace)
}

// allows reports whether a condition selects a namespace with labels.
func allows(c externalv1.ClusterSecretStoreCondition, namespace string, marks labels.Set) (bool, error) {
	if slices.Contains(c.Namespaces, namespace) {
		return true, nil
	}
	if c.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(c.NamespaceSelector)
		if err != nil {
			return false, fmt.Errorf("namespaceSelector: %w", err)
		}
		if selector.Matches(marks) {
			return true, nil
		}
	}
	for _, text := range c.NamespaceRegexes {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return false, fmt.Errorf("namespaceRegexes: %w", err)
		}
		if pattern.MatchString(namespace) {
			return true, nil
		}
	}
	return false, nil
}
