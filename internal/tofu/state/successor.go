// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// When a namespace is deleted, its state Secrets may go before its stacks. Stacks that destroy
// their resources then continue with the newest version, and write only versions.

// inDyingNamespace reports whether the key's namespace is being deleted.
func (s *Store) inDyingNamespace(ctx context.Context, key Key) (bool, error) {
	var namespace corev1.Namespace
	err := s.client.Get(ctx, client.ObjectKey{Name: key.Namespace}, &namespace)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && !namespace.DeletionTimestamp.IsZero(), err
}

// successor returns the newest version instead of a missing Secret if that is harmless: in a
// namespace that is being deleted, or without resources, so that nothing can be created twice. It
// accepts another tenant's version only if it is completely empty.
func (s *Store) successor(ctx context.Context, key Key, newest Version) (*Snapshot, error) {
	version, data, err := s.readVersion(ctx, key, newest.ID)
	if err != nil {
		return nil, err
	}
	if isEmpty(data) {
		return newSnapshot(data)
	}
	if err := key.owned("version "+version.ID, version.Scope); err != nil {
		return nil, err
	}
	if file, err := statefile.Parse(data); err != nil || file.Encrypted || len(file.Resources) > 0 {
		dying, err := s.inDyingNamespace(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read the state of %s: read its namespace: %w", key, err)
		}
		if !dying {
			return nil, nil
		}
	}
	return newSnapshot(data)
}

// isEmpty reports whether a state has neither resources nor outputs.
func isEmpty(data []byte) bool {
	file, err := statefile.Parse(data)
	return err == nil && !file.Encrypted && len(file.Resources) == 0 && len(file.Outputs) == 0
}

// refusedByDying reports whether an object was not created because its namespace is being deleted.
func refusedByDying(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
