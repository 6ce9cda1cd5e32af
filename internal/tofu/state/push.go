// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
)

// PushRequest is a state that replaces the current one.
type PushRequest struct {
	Data []byte
	// Force replaces a state of another lineage, a newer one, and a missing or damaged one.
	Force  bool
	Labels map[string]string
	By     By
}

// PushError says why a state was not pushed; nothing was changed.
type PushError struct {
	Key Key
	// Problem is a sentence without a full stop.
	Problem string
	// Forceable is true if Force would push it anyway.
	Forceable bool
}

func (e *PushError) Error() string {
	text := fmt.Sprintf("push a state of %s: %s. Nothing was changed", e.Key, e.Problem)
	if e.Forceable {
		text += ".\nIf it is the right state, push it with --force; the current state stays in the history"
	}
	return text
}

// CheckPush compares the state to push with the current one, as tofu does: it must have the same
// lineage and must not be older. Either may be nil for none.
func CheckPush(key Key, now, next *Snapshot) error {
	if now == nil || now.Data == nil || now.Digest == next.Digest {
		return nil
	}
	problem := ""
	switch {
	case now.Lineage != "" && next.Lineage != "" && now.Lineage != next.Lineage:
		problem = fmt.Sprintf("its lineage is %q, but that of the current state is %q: they are unrelated", next.Lineage, now.Lineage)
	case next.Serial < now.Serial:
		problem = fmt.Sprintf("its serial is %d, but the current state is newer, with serial %d", next.Serial, now.Serial)
	case next.Serial == now.Serial:
		problem = fmt.Sprintf("the current state has the same serial, %d, but other content", now.Serial)
	default:
		return nil
	}
	return &PushError{Key: key, Problem: problem, Forceable: true}
}

// NewSnapshot parses the bytes of a state that is not stored (yet).
func NewSnapshot(data []byte) (*Snapshot, error) { return newSnapshot(data) }

// Push replaces the current state, whose lock the caller holds. Without force the bytes are
// unchanged; with force, a state that does not succeed the current one gets a higher serial.
func (s *Store) Push(ctx context.Context, key Key, request PushRequest) (Version, error) {
	if err := key.Validate(); err != nil {
		return Version{}, err
	}
	next, err := newSnapshot(request.Data)
	if err != nil {
		return Version{}, &CorruptError{Key: key, Where: "the state to push", Offered: true, Err: err}
	}
	reason := "pushed by " + request.By.Holder.who()
	now, err := s.Read(ctx, key)
	if err == nil {
		err = CheckPush(key, now, next)
	}
	if err == nil {
		return s.Write(ctx, key, WriteRequest{Data: request.Data, Previous: now.Mark(), Labels: request.Labels, RunID: request.By.RunID, Reason: reason})
	}
	if !request.Force || !forceable(err) {
		return Version{}, err
	}
	draft := Version{RunID: request.By.RunID, Reason: reason + " with force"}
	if vanished := (*VanishedError)(nil); errors.As(err, &vanished) && vanished.Newest != nil {
		draft.Owners = vanished.Newest.Owners
	}
	version, _, err := s.putAbove(ctx, key, request.Data, draft, request.Labels)
	if err != nil {
		return Version{}, fmt.Errorf("push a state of %s: %w", key, err)
	}
	return version, nil
}

// forceable reports whether force may replace a state despite the error.
func forceable(err error) bool {
	var push *PushError
	var corrupt *CorruptError
	var vanished *VanishedError
	return errors.As(err, &push) || errors.As(err, &corrupt) || errors.As(err, &vanished)
}
