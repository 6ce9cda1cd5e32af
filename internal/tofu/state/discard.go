// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Discard deletes the Secret and the Lease of an empty state after its stack was destroyed and
// deleted; its versions age like any. It keeps a state that has resources or outputs, cannot be
// read, is locked, belongs to another tenant, or is being written.
func (s *Store) Discard(ctx context.Context, key Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	lease, err := s.getLease(ctx, key)
	if err != nil {
		return fmt.Errorf("discard the state of %s: check its lock: %w", key, err)
	}
	secret, err := s.getSecret(ctx, key)
	var owned *OwnedError
	if errors.As(err, &owned) || err == nil && holderOf(lease) != nil {
		return nil
	}
	done := false
	if err == nil {
		done, err = s.discardSecret(ctx, key, secret)
	}
	if err == nil && done && lease != nil && key.Owned(lease.Labels) == nil {
		err = s.deleteExactly(ctx, lease)
	}
	if lostRace(err) {
		return nil // somebody uses it after all
	}
	if err != nil {
		return fmt.Errorf("discard the state of %s: %w", key, err)
	}
	return nil
}

// discardSecret deletes the Secret if nothing in it could be missed, and reports whether it no
// longer exists.
func (s *Store) discardSecret(ctx context.Context, key Key, secret *corev1.Secret) (bool, error) {
	if secret == nil {
		return true, nil
	}
	snapshot, err := s.decode(ctx, key, secret)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) || err == nil && !isEmpty(snapshot.Data) {
		return false, nil
	}
	if err == nil {
		err = s.keepUnrecorded(ctx, key, secret, &Snapshot{})
	}
	if err == nil {
		err = s.deleteExactly(ctx, secret)
	}
	return err == nil, err
}

// deleteExactly deletes an object only in the version that was read.
func (s *Store) deleteExactly(ctx context.Context, obj client.Object) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return client.IgnoreNotFound(s.client.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
