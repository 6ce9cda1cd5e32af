// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// frozen is a cache that the watch tells nothing new: it has the Lease as it was once, nil for
// none.
type frozen struct {
	client.Reader
	lease *coordinationv1.Lease
}

func (f *frozen) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if f.lease == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
	}
	f.lease.DeepCopyInto(obj.(*coordinationv1.Lease))
	return nil
}

// watched returns the fixture with a cache that has the Lease as it is now, for ever.
func (f *fixture) watched() *Store {
	f.t.Helper()
	lease, err := f.getLease(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.Watching(&frozen{lease: lease})
}

// Whatever an old cache says, a lock is taken and released as if there were none.
func TestAnOldCacheLocksNobodyOutAndLetsNobodyIn(t *testing.T) {
	other := LockInfo{ID: "other", Who: "somebody@else"}
	free := func(*fixture) {}
	used := func(f *fixture) { f.lock(other); f.unlock(other.ID) }
	byOther := func(f *fixture) { f.lock(other) }
	ours := func(f *fixture) { f.lock(aLock) }
	for sentence, test := range map[string]struct {
		before, since func(*fixture)
		locked        bool
	}{
		"it never saw the lock":                        {free, used, false},
		"it never saw that somebody else has the lock": {free, byOther, true},
		"it saw the lock free, and somebody took it":   {used, byOther, true},
		"it saw the lock taken, and it was released":   {byOther, func(f *fixture) { f.unlock(other.ID) }, false},
		"it never saw that we have it already":         {used, ours, false},
		"it is up to date":                             {used, free, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			test.before(f)
			store := f.watched()
			test.since(f)
			err := store.Lock(t.Context(), f.key, aLock)
			var locked *LockedError
			if errors.As(err, &locked) != test.locked || !test.locked && err != nil {
				t.Fatal(err)
			}
			holder := aLock.ID
			if test.locked {
				holder = other.ID
			}
			if now, err := f.Holder(t.Context(), f.key); err != nil || now == nil || now.ID != holder {
				t.Errorf("held by %v, %v", now, err)
			}
			err = store.Unlock(t.Context(), f.key, aLock.ID)
			if errors.As(err, &locked) != test.locked || !test.locked && err != nil {
				t.Error(err)
			}
			if !test.locked {
				f.wantHolder(nil)
			}
		})
	}
}

// What this process did is seen although the watch did not tell it yet.
func TestTheHolderIsWhoTookTheLockHere(t *testing.T) {
	f := newFixture(t)
	store := f.watched()
	for range 2 {
		if err := store.Lock(t.Context(), f.key, aLock); err != nil {
			t.Fatal(err)
		}
		if now, err := store.Holder(t.Context(), f.key); err != nil || now == nil || now.ID != aLock.ID {
			t.Fatalf("held by %v, %v", now, err)
		}
		if err := store.Unlock(t.Context(), f.key, aLock.ID); err != nil {
			t.Fatal(err)
		}
		if now, err := store.Holder(t.Context(), f.key); err != nil || now != nil {
			t.Fatalf("held by %v, %v", now, err)
		}
	}
}

func (f *fixture) unlock(id string) {
	f.t.Helper()
	if err := f.Unlock(f.t.Context(), f.key, id); err != nil {
		f.t.Fatal(err)
	}
}
