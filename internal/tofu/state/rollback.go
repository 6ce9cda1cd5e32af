// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// Rollback is the result of a rollback.
type Rollback struct {
	// From is the restored version, To the new version that is now the state.
	From Version `json:"from"`
	To   Version `json:"to"`
	// SerialKept is true for an encrypted state: it keeps the serial of From. tofu accepts that,
	// but saved plans made meanwhile may not notice the change.
	SerialKept bool `json:"serialKept,omitempty"`
}

// By is who replaces a state: the lock holder, and the run, if any.
type By struct {
	Holder LockInfo
	RunID  string
}

// Rollback makes a stored version's content the current state: a new version with the highest
// serial. It acquires the lock, unless the holder's id has it. Content of the Secret that is not a
// state goes to the blob store below corrupt/; no other operation replaces that.
func (s *Store) Rollback(ctx context.Context, key Key, versionID string, by By) (_ Rollback, err error) {
	from, data, err := s.ReadVersion(ctx, key, versionID)
	if err != nil {
		return Rollback{}, err
	}
	taken, err := s.lock(ctx, key, by.Holder, "roll back")
	if err != nil {
		return Rollback{}, err
	}
	if taken {
		defer func() { err = errors.Join(err, s.Unlock(context.WithoutCancel(ctx), key, by.Holder.ID)) }()
	}
	reason := fmt.Sprintf("rollback to version %s by %s", from.ID, by.Holder.who())
	to, kept, err := s.putAbove(ctx, key, data, Version{RunID: by.RunID, Reason: reason, Owners: from.Owners}, nil)
	if err != nil {
		return Rollback{}, fmt.Errorf("roll back the state of %s to version %s: %w", key, versionID, err)
	}
	return Rollback{From: from, To: to, SerialKept: kept}, nil
}

// putAbove stores data with the highest serial so far, unless that cannot be changed (serialKept).
// The draft names writer and reason, and the owners if the Secret names none.
func (s *Store) putAbove(
	ctx context.Context, key Key, data []byte, draft Version, labels map[string]string,
) (version Version, serialKept bool, err error) {
	err = retried(func(int) error {
		version, serialKept, err = s.putAboveOnce(ctx, key, data, draft, labels)
		return err
	})
	return version, serialKept, err
}

func (s *Store) putAboveOnce(
	ctx context.Context, key Key, data []byte, draft Version, labels map[string]string,
) (version Version, serialKept bool, err error) {
	secret, err := s.getSecret(ctx, key)
	if err != nil {
		return version, false, err
	}
	highest, err := s.setAside(ctx, key, secret)
	if err != nil {
		return version, false, err
	}
	raised, err := statefile.WithSerial(data, highest+1)
	if err != nil {
		raised, serialKept = data, true
	}
	next, err := newSnapshot(raised)
	if err != nil {
		return version, serialKept, err
	}
	if owners := ownersOf(key, secret, data); len(owners) > 0 || holdsNothing(data) {
		draft.Owners = owners
	}
	if version, err = s.storeVersion(ctx, key, next, draft); err != nil {
		return version, serialKept, err
	}
	return version, serialKept, s.replace(ctx, key, secret, raised, version, labels)
}

// setAside stores the current content of the Secret and returns the highest serial so far.
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
