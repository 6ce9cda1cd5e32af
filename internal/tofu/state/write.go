// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// WriteRequest is a state to write.
type WriteRequest struct {
	Data []byte
	// Previous is the state that the writer started from or wrote last; zero if there was none.
	Previous Mark
	// Labels are the configured labels; they are added to the Secret unless it has labels of these
	// names.
	Labels map[string]string
	// RunID is the run that writes. Its own earlier writes may be replaced whatever Previous is:
	// their response may have been lost.
	RunID  string
	Reason string
}

// Write stores a state, first as a version, then in the Secret. It may be repeated after any error.
// Once the version is stored it is returned, even if writing the Secret fails.
func (s *Store) Write(ctx context.Context, key Key, request WriteRequest) (Version, error) {
	if err := key.Validate(); err != nil {
		return Version{}, err
	}
	next, err := newSnapshot(request.Data)
	if err != nil {
		return Version{}, &CorruptError{Key: key, Where: "the state to write", Offered: true, Err: err}
	}
	// An unavailable API must not prevent storing the version. If a Secret exists unexpectedly,
	// writeSecret notices.
	var secret *corev1.Secret
	var unreachable error
	if request.Previous.Digest != "" {
		secret, unreachable = s.getSecret(ctx, key)
	}
	if unreachable == nil {
		err = s.keepUnrecorded(ctx, key, secret, next)
	}
	var version Version
	if err == nil {
		draft := Version{RunID: request.RunID, Reason: request.Reason, Owners: ownersOf(key, secret, request.Data)}
		version, err = s.storeVersion(ctx, key, next, draft)
	}
	if err != nil {
		return Version{}, fmt.Errorf("write the state of %s: store its version: %w", key, err)
	}
	if unreachable != nil {
		return version, fmt.Errorf("write the state of %s: %w", key, unreachable)
	}
	return version, s.writeSecret(ctx, key, secret, request, version)
}

// writeSecret writes a stored version to the Secret, unless another writer has changed it. If the
// Secret changes concurrently, it reads and decides again.
func (s *Store) writeSecret(ctx context.Context, key Key, secret *corev1.Secret, request WriteRequest, version Version) error {
	for attempt := 1; ; attempt++ {
		current, err := s.decode(ctx, key, secret)
		if err != nil {
			return err
		}
		if current.Digest == version.Digest {
			return nil
		}
		if err := s.mayReplace(ctx, key, current, request, version); err != nil {
			return err
		}
		err = s.replace(ctx, key, secret, request.Data, version, request.Labels)
		if err == nil || refusedByDying(err) {
			return nil
		}
		if lostRace(err) && attempt < attempts {
			secret, err = s.getSecret(ctx, key)
		}
		if err != nil {
			return fmt.Errorf("write the state of %s to Secret %s: %w", key, key.SecretName(), err)
		}
	}
}

// mayReplace reports whether the writer started from the current state, or the same run wrote it. A
// Secret that disappeared during a run is created again; one that was missing before is not.
func (s *Store) mayReplace(ctx context.Context, key Key, current *Snapshot, request WriteRequest, version Version) error {
	if current.Digest == request.Previous.Digest && current.Data != nil {
		return nil
	}
	if current.Data == nil && request.Previous.Digest != "" {
		return nil
	}
	for stored, err := range s.Versions(ctx, key) {
		if damaged(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the state of %s: %w", key, err)
		}
		ours := stored.ID == version.ID || request.RunID != "" && stored.RunID == request.RunID
		if current.Data == nil && !ours {
			return &VanishedError{Key: key, Newest: &stored, Emptied: current.ResourceVersion != ""}
		}
		if current.Data != nil && ours && stored.Digest == current.Digest {
			return nil
		}
	}
	if current.Data == nil {
		return nil
	}
	return &ConflictError{Key: key, Expected: request.Previous, Found: current.Mark(), Stored: version}
}

// replace writes the state to the Secret, or to a new one for nil.
func (s *Store) replace(
	ctx context.Context, key Key, secret *corev1.Secret, data []byte, version Version, labels map[string]string,
) error {
	if secret == nil {
		secret = new(corev1.Secret)
	}
	if err := encode(key, secret, data, version, labels); err != nil {
		return err
	}
	return s.putSecret(ctx, secret)
}

// keepUnrecorded stores the Secret's content as a version before a write replaces it, if plain tofu
// wrote it. It ignores content that is not a state, because the write refuses to replace that.
func (s *Store) keepUnrecorded(ctx context.Context, key Key, secret *corev1.Secret, next *Snapshot) error {
	current, err := s.decode(ctx, key, secret)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return nil
	}
	if err != nil || current.Data == nil || current.Digest == next.Digest {
		return err
	}
	recorded, err := s.recorded(ctx, key, current)
	if err != nil || recorded {
		return err
	}
	_, err = s.storeVersion(ctx, key, current, Version{Reason: "found in the Secret, written by another program", Owners: current.Ownership.Owners})
	return err
}
