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
	// Previous is the state the writer started from or wrote last, zero when there was none.
	Previous Mark
	// Labels are the configured ones; they are added to the Secret where it has none of that name.
	Labels map[string]string
	// RunID is the run that writes. What the same run wrote before may be replaced whatever Previous says: the answer to
	// that write may have been lost.
	RunID  string
	Reason string
}

// Write stores a state, first as a version, then in the Secret. It may be repeated after any error. Once the version
// is stored it is returned, whatever becomes of the Secret.
func (s *Store) Write(ctx context.Context, key Key, request WriteRequest) (Version, error) {
	if err := key.Validate(); err != nil {
		return Version{}, err
	}
	next, err := newSnapshot(request.Data)
	if err != nil {
		return Version{}, &CorruptError{Key: key, Where: "what was to be written", Offered: true, Err: err}
	}
	// An API that does not answer must not keep the version from being stored. A first state is made where none should be;
	// if one is, that is found then.
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

// writeSecret brings a stored version into the Secret, unless somebody else wrote that since. When the Secret changes
// between reading and writing, it is read and judged anew.
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

// mayReplace says whether the current state is one the writer may replace: the one it started from, or one that the
// same run wrote. A Secret that went away during a run is made again, for the writer has its successor; one that was
// away before is not.
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

// replace writes the state into the Secret, a new one for nil.
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

// keepUnrecorded stores what the Secret holds when no version of it is stored yet (plain tofu wrote it), before a
// write replaces it. What is not a state is left to the write, which will not replace it.
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
	_, err = s.storeVersion(ctx, key, current, Version{Reason: "found in the Secret, written by other means than Yuba", Owners: current.Ownership.Owners})
	return err
}
