// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Rollback is what going back to a version led to.
type Rollback struct {
	// From is the version gone back to, To the new version that is now the state.
	From, To Version
	// SerialKept is true for an encrypted state: its serial cannot be raised, so it is From's. tofu accepts it, but
	// saved plans made meanwhile may not notice that the state moved.
	SerialKept bool
}

// Rollback makes the content of a stored version the current state: a new version with a serial above every other one
// of the state, and the same lineage. It holds the lock as the holder while it does so, unless the holder (by its id) has it
// already, and is the one operation that replaces a Secret whose content is not a state; that content is kept in the blob store
// below corrupt/.
func (s *Store) Rollback(ctx context.Context, key Key, versionID string, holder LockInfo) (_ Rollback, err error) {
	from, data, err := s.ReadVersion(ctx, key, versionID)
	if err != nil {
		return Rollback{}, err
	}
	taken, err := s.lock(ctx, key, holder, "roll back")
	if err != nil {
		return Rollback{}, err
	}
	if taken {
		defer func() { err = errors.Join(err, s.Unlock(context.WithoutCancel(ctx), key, holder.ID)) }()
	}
	for attempt := 1; ; attempt++ {
		rollback, err := s.rollBack(ctx, key, from, data, holder)
		if lostRace(err) && attempt < attempts {
			continue
		}
		if err != nil {
			return Rollback{}, fmt.Errorf("roll back the state of %s to version %s: %w", key, versionID, err)
		}
		return rollback, nil
	}
}

func (s *Store) rollBack(ctx context.Context, key Key, from Version, data []byte, holder LockInfo) (Rollback, error) {
	secret, err := s.getSecret(ctx, key)
	if err != nil {
		return Rollback{}, err
	}
	highest, err := s.setAside(ctx, key, secret)
	if err != nil {
		return Rollback{}, err
	}
	rollback := Rollback{From: from}
	raised, err := withSerial(data, highest+1)
	if err != nil {
		raised, rollback.SerialKept = data, true
	}
	next, err := newSnapshot(raised)
	if err != nil {
		return Rollback{}, err
	}
	reason := fmt.Sprintf("rollback to version %s by %s", from.ID, holder.who())
	if rollback.To, err = s.storeVersion(ctx, key, next, "", reason); err != nil {
		return Rollback{}, err
	}
	return rollback, s.replace(ctx, key, secret, raised, rollback.To, nil)
}

// setAside keeps what the Secret holds now and returns the highest serial of the state so far.
func (s *Store) setAside(ctx context.Context, key Key, secret *corev1.Secret) (uint64, error) {
	current, err := s.decode(ctx, key, secret)
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		place := fmt.Sprintf("corrupt/%s/%s/%020d", key.Namespace, key.SecretName(), time.Now().UnixNano())
		if err := s.blobs.PutBytes(ctx, place, secret.Data[dataKey]); err != nil {
			return 0, err
		}
		current = &Snapshot{}
	case err != nil:
		return 0, err
	case current.Data != nil:
		if err := s.keepUnrecorded(ctx, key, secret, &Snapshot{}); err != nil {
			return 0, err
		}
	}
	highest := current.Serial
	ids, err := s.versionIDs(ctx, key)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, serial, err := parseID(id); err == nil {
			highest = max(highest, serial)
		}
	}
	return highest, nil
}
