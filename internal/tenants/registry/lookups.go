// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// lookups are what a registry's source may look up: Secrets and ConfigMaps of its namespace.
type lookups struct {
	reader    client.Reader
	namespace string
}

// Secret implements database.Secrets.
func (l lookups) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	var s corev1.Secret
	if err := l.reader.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, &s); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", l.namespace, name, err)
	}
	return s.Data, nil
}

// ConfigMap implements database.Secrets.
func (l lookups) ConfigMap(ctx context.Context, name string) (map[string]string, error) {
	var c corev1.ConfigMap
	if err := l.reader.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, &c); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", l.namespace, name, err)
	}
	return c.Data, nil
}

// references are the Secrets and ConfigMaps that a registry reads.
func references(namespace string, s *tenantv1.DataSource) []string {
	var refs []string
	for _, name := range database.SecretNames(*s) {
		refs = append(refs, passes.Reference("Secret", namespace, name))
	}
	if s.Type == tenantv1.SourceConfigMap && s.ConfigMap != nil {
		refs = append(refs, passes.Reference("ConfigMap", namespace, s.ConfigMap.Name))
	}
	return refs
}
