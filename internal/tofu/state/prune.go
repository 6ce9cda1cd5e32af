// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
)

// Keep limits the versions of a state that are kept besides needed ones.
type Keep struct {
	// Versions is the maximum number; 0 means no limit.
	Versions int
	// Age is how long a replaced version is kept; 0 means unlimited.
	Age time.Duration
}

const (
	// settled is how long every version is kept: until then a reference to it has been written.
	settled = time.Hour
	// combined is the age from which, beyond the limit, only the last state of each run is kept:
	// tofu writes one every 20 seconds, and a long apply would push out all older versions.
	combined = 24 * time.Hour
)

// goneMark is stored beside a state's versions when it is first seen without stack and Secret. From
// then on they age, so that a long idle stack survives an accidental deletion as long as any other.
const goneMark = "gone"

// Prune removes versions beyond the limits from a state with a stack or a Secret, and returns how
// many. It never removes the newest one, the one with the highest serial, the last one of runID
// (the last applied run), the one that the Secret points to, or any while there is no Secret.
func (s *Store) Prune(ctx context.Context, key Key, runID string, keep Keep, now time.Time) (int, error) {
	ids, gone, err := s.left(ctx, key)
	if err == nil {
		err = s.unmark(ctx, key, gone)
	}
	if err != nil {
		return 0, fmt.Errorf("prune the versions of %s: %w", key, err)
	}
	versions := versionsOf(ids)
	if len(superfluous(versions, nil, keep, now)) == 0 {
		return 0, nil
	}
	secret, err := s.getSecret(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("prune the versions of %s: %w", key, err)
	}
	if secret == nil || secret.Data[dataKey] == nil {
		return 0, nil
	}
	for i := range versions {
		if err := s.readRunID(ctx, key, &versions[i]); err != nil {
			return 0, fmt.Errorf("prune the versions of %s: %w", key, err)
		}
	}
	pointer := strings.TrimPrefix(secret.Annotations[AnnotationStateBlob], key.versionsPrefix())
	applied := ""
	for _, v := range versions {
		if runID != "" && v.RunID == runID {
			applied = v.ID
		}
	}
	needed := func(v Version) bool { return v.ID == pointer || v.ID == applied }
	goes := superfluous(versions, needed, keep, now)
	for _, id := range goes {
		if err := s.blobs.Delete(ctx, key.versionsPrefix()+id); err != nil {
			return 0, fmt.Errorf("prune the versions of %s: %w", key, err)
		}
	}
	return len(goes), nil
}

// PruneGone handles a state without a stack. If it has no Secret either (there is false), it marks
// the state as gone, and removes all versions once the mark is older than before.
func (s *Store) PruneGone(ctx context.Context, key Key, before time.Time) (removed int, there bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune the versions of the deleted state %s: %w", key, err)
		}
	}()
	ids, gone, err := s.left(ctx, key)
	if err != nil {
		return 0, false, err
	}
	secret, err := s.getSecret(ctx, key)
	if err != nil || secret != nil {
		return 0, secret != nil, err
	}
	versions := versionsOf(ids)
	switch {
	case len(versions) == 0:
		return 0, false, s.unmark(ctx, key, gone)
	case gone.IsZero():
		return 0, false, s.blobs.PutBytes(ctx, key.versionsPrefix()+goneMark, nil)
	case gone.After(before) || versions[len(versions)-1].Time.After(before):
		return 0, false, nil
	}
	for _, id := range ids {
		if err := s.blobs.Delete(ctx, key.versionsPrefix()+id); err != nil {
			return 0, false, err
		}
	}
	return len(ids), false, s.unmark(ctx, key, gone)
}

// unmark removes the mark of a gone state.
func (s *Store) unmark(ctx context.Context, key Key, gone time.Time) error {
	if gone.IsZero() {
		return nil
	}
	return s.blobs.Delete(ctx, key.versionsPrefix()+goneMark)
}

// KeyOf returns the key of the state in a Secret of that name. Names with several dashes can be
// divided in any way: the derived names are the same.
func KeyOf(namespace, secretName string) (Key, bool) {
	rest, ok := strings.CutPrefix(secretName, "tfstate-")
	workspace, suffix, divided := strings.Cut(rest, "-")
	return Key{Namespace: namespace, Workspace: workspace, Suffix: suffix}, ok && divided && workspace != "" && suffix != ""
}

// versionsOf parses the ids of versions.
func versionsOf(ids []string) []Version {
	versions := make([]Version, 0, len(ids))
	for _, id := range ids {
		if at, serial, err := parseID(id); err == nil {
			versions = append(versions, Version{ID: id, Time: at, Serial: serial})
		}
	}
	return versions
}

// readRunID reads which run wrote a version. It ignores damaged and deleted versions.
func (s *Store) readRunID(ctx context.Context, key Key, v *Version) error {
	read, content, err := s.openVersion(ctx, key, v.ID)
	if damaged(err) || errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.RunID = read.RunID
	return content.Close()
}

// superfluous returns the versions to remove, given oldest first: those replaced too long ago,
// then, beyond the limit, intermediate ones of runs, then the oldest. needed may be nil.
func superfluous(versions []Version, needed func(Version) bool, keep Keep, now time.Time) []string {
	var goes []string
	if len(versions) == 0 {
		return nil
	}
	last := len(versions) - 1
	highest := slices.MaxFunc(versions, func(a, b Version) int { return cmp.Compare(a.Serial, b.Serial) }).ID
	stays := func(i int) bool {
		v := versions[i]
		return i == last || v.ID == highest || now.Sub(v.Time) < settled || needed != nil && needed(v)
	}
	for i, v := range versions {
		if keep.Age > 0 && !stays(i) && now.Sub(versions[i+1].Time) > keep.Age {
			goes = append(goes, v.ID)
		}
	}
	onTheWay := func(i int) bool {
		v := versions[i]
		return v.RunID != "" && v.RunID == versions[i+1].RunID && now.Sub(v.Time) > combined
	}
	for _, first := range []func(int) bool{onTheWay, func(int) bool { return true }} {
		for i, v := range versions[:last] {
			if keep.Versions <= 0 || len(versions)-len(goes) <= keep.Versions {
				return goes
			}
			if !stays(i) && !slices.Contains(goes, v.ID) && first(i) {
				goes = append(goes, v.ID)
			}
		}
	}
	return goes
}
