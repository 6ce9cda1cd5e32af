// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
)

// PushRequest is a state to put in the place of the one that is there.
type PushRequest struct {
	Data []byte
	// Force replaces a state of another lineage, a newer one, and one that is gone or damaged.
	Force  bool
	Labels map[string]string
	By     By
}

// PushError says why a state was not pushed; nothing was changed.
type PushError struct {
	Key Key
	// Problem is a sentence without a full stop.
	Problem string
	// Forceable is true when Force would push it all the same.
	Forceable bool
}

func (e *PushError) Error() string {
	text := fmt.Sprintf("push a state of %s: %s. Nothing was changed", e.Key, e.Problem)
	if e.Forceable {
		text += ".\nIf it is the right one all the same, push it with --force: what is there now stays in the history"
	}
	return text
}

// CheckPush compares a state that is to be pushed with the one that is there, as tofu does: it must be of the same
// lineage and not be older. Either may be nil, for "there is none".
func CheckPush(key Key, now, next *Snapshot) error {
	if now == nil || now.Data == nil || now.Digest == next.Digest {
		return nil
	}
	problem := ""
	switch {
	case now.Lineage != "" && next.Lineage != "" && now.Lineage != next.Lineage:
		problem = fmt.Sprintf("it is of lineage %q, the state that is there is of lineage %q: they have nothing to do with each other", next.Lineage, now.Lineage)
	case next.Serial < now.Serial:
		problem = fmt.Sprintf("its serial is %d, and the state that is there is newer, of serial %d", next.Serial, now.Serial)
	case next.Serial == now.Serial:
		problem = fmt.Sprintf("the state that is there has the same serial, %d, and another content", now.Serial)
	default:
		return nil
	}
	return &PushError{Key: key, Problem: problem, Forceable: true}
}

// NewSnapshot reads the bytes of a state that is not stored (yet).
func NewSnapshot(data []byte) (*Snapshot, error) { return newSnapshot(data) }

// Push makes the state of the request the current one. Its lock must be held. Without force the bytes stay as they are
// and so does the serial; with force a state that is not the successor of the present one gets a serial above all.
func (s *Store) Push(ctx context.Context, key Key, request PushRequest) (Version, error) {
	if err := key.Validate(); err != nil {
		return Version{}, err
	}
	next, err := newSnapshot(request.Data)
	if err != nil {
		return Version{}, &CorruptError{Key: key, Where: "what was to be pushed", Offered: true, Err: err}
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
	for attempt := 1; ; attempt++ {
		version, _, err := s.putAbove(ctx, key, request.Data, draft, request.Labels)
		if lostRace(err) && attempt < attempts {
			continue
		}
		if err != nil {
			return Version{}, fmt.Errorf("push a state of %s: %w", key, err)
		}
		return version, nil
	}
}

// forceable says whether a state may be replaced with force despite the error.
func forceable(err error) bool {
	var push *PushError
	var corrupt *CorruptError
	var vanished *VanishedError
	return errors.As(err, &push) || errors.As(err, &corrupt) || errors.As(err, &vanished)
}
