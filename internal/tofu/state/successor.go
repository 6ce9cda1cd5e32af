// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A namespace that is being deleted loses its state Secrets before its stacks, for nothing orders them. Stacks that
// destroy what they manage then go on with the newest stored version, and what they write is kept as versions only: the
// namespace takes no new Secret and no new Lease.

// inDyingNamespace says whether the key's namespace is being deleted.
func (s *Store) inDyingNamespace(ctx context.Context, key Key) (bool, error) {
	var namespace corev1.Namespace
	err := s.client.Get(ctx, client.ObjectKey{Name: key.Namespace}, &namespace)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && !namespace.DeletionTimestamp.IsZero(), err
}

// successor returns the newest version in place of a Secret that is gone, where that can do no harm: in a namespace that
// is being deleted, and when the version holds no resources, so that nothing could be created a second time. It is nil
// otherwise. Of another tenant's only one that says nothing at all is taken: what is left of a stack that was destroyed.
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
	if file, err := Parse(data); err != nil || file.Encrypted || len(file.Resources) > 0 {
		dying, err := s.inDyingNamespace(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read the state of %s: look at its namespace: %w", key, err)
		}
		if !dying {
			return nil, nil
		}
	}
	return newSnapshot(data)
}

// isEmpty says that a state manages nothing and puts nothing out.
func isEmpty(data []byte) bool {
	file, err := Parse(data)
	return err == nil && !file.Encrypted && len(file.Resources) == 0 && len(file.Outputs) == 0
}

// refusedByDying says that an object was not created because its namespace is being deleted.
func refusedByDying(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
