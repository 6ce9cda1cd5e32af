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

// Keep is which versions of a state are kept beside those that something still needs.
type Keep struct {
	// Versions is how many; 0 means any number.
	Versions int
	// Age is how long one is kept after another took its place; 0 means for ever.
	Age time.Duration
}

const (
	// settled is how long every version is kept: whoever wrote it, or is about to refer to it, has long done so then.
	settled = time.Hour
	// combined is from when on a run's states are kept as its last one only, where there are too many. tofu writes one
	// every 20 seconds, so that a long apply would otherwise push out all that was before it.
	combined = 24 * time.Hour
)

// goneMark lies beside the versions of a state since it was first seen that no stack and no Secret has it. From then on its
// versions age: those of a stack that rested for a year are no older, when it is deleted by mistake, than any other's.
const goneMark = "gone"

// Prune removes, of a state that a stack or a Secret has, versions beyond those that are kept, and returns how many. Never removed are the newest one, that with the
// highest serial, the last that runID wrote (the run that was applied last), the one that the Secret points to, and any at
// all while there is no Secret: then they are what is left of the state.
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

// PruneGone looks at a state that no stack has any more. Unless there is a Secret with it, which it says, the state is marked
// as gone, and once it has been so since before that time, all versions are removed.
func (s *Store) PruneGone(ctx context.Context, key Key, before time.Time) (removed int, there bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune the versions of %s, which is gone: %w", key, err)
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

// unmark takes the mark of a state away that is marked as gone.
func (s *Store) unmark(ctx context.Context, key Key, gone time.Time) error {
	if gone.IsZero() {
		return nil
	}
	return s.blobs.Delete(ctx, key.versionsPrefix()+goneMark)
}

// KeyOf is the key of the state that a Secret of that name keeps. How a name with several dashes is divided does not
// matter: the names that follow from the key are the same.
func KeyOf(namespace, secretName string) (Key, bool) {
	rest, ok := strings.CutPrefix(secretName, "tfstate-")
	workspace, suffix, divided := strings.Cut(rest, "-")
	return Key{Namespace: namespace, Workspace: workspace, Suffix: suffix}, ok && divided && workspace != "" && suffix != ""
}

// versionsOf are the versions as their ids tell of them.
func versionsOf(ids []string) []Version {
	versions := make([]Version, 0, len(ids))
	for _, id := range ids {
		if at, serial, err := parseID(id); err == nil {
			versions = append(versions, Version{ID: id, Time: at, Serial: serial})
		}
	}
	return versions
}

// readRunID learns which run wrote a version. A damaged one does not say, and one that is gone has nothing to say.
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

// superfluous says which of the versions, oldest first, go: those that were replaced too long ago, and where there are
// still too many, first what runs wrote on their way, then the oldest. needed may be nil.
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
