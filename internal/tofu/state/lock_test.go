// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var aLock = LockInfo{
	ID: "3f2a", Operation: "OperationTypeApply", Info: "run 1", Who: "ci@build7", Version: "1.12.6",
	Created: time.Date(2026, 3, 4, 10, 2, 0, 0, time.UTC),
}

func (f *fixture) lock(info LockInfo) {
	f.t.Helper()
	if err := f.Lock(f.t.Context(), f.key, info); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) wantHolder(want *LockInfo) {
	f.t.Helper()
	got, err := f.Holder(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("holder (-want +got):\n%s", diff)
	}
}

func (f *fixture) wantLease(annotations map[string]string, holder *string) {
	f.t.Helper()
	got, err := f.getLease(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	want := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.key.Namespace, Name: "lock-tfstate-default-vpc", Annotations: annotations,
			Labels: map[string]string{
				"tfstate": "true", "tfstateSecretSuffix": "vpc", "tfstateWorkspace": "default",
				"app.kubernetes.io/managed-by": "terraform",
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: holder},
	}
	set := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp", "ManagedFields")
	if diff := cmp.Diff(want, got, set); diff != "" {
		f.t.Errorf("Lease (-want +got):\n%s", diff)
	}
}

func TestALockIsAsOpenTofuKeepsIt(t *testing.T) {
	f := newFixture(t)
	f.wantHolder(nil)
	for range 2 { // a Lease that is there is taken like one that is not
		f.lock(aLock)
		f.wantHolder(&aLock)
		text := `{"ID":"3f2a","Operation":"OperationTypeApply","Info":"run 1","Who":"ci@build7","Version":"1.12.6",` +
			`"Created":"2026-03-04T10:02:00Z","Path":""}`
		f.wantLease(map[string]string{annotationLock: text}, &aLock.ID)
		if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
			t.Fatal(err)
		}
		f.wantHolder(nil)
		f.wantLease(nil, nil)
	}
}

func TestLockAndUnlockMayBeRepeated(t *testing.T) {
	f := newFixture(t)
	if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
		t.Errorf("unlock what was never locked: %v", err)
	}
	f.lock(aLock)
	f.lock(aLock)
	for range 2 {
		if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
			t.Error(err)
		}
	}
}

func TestALockInOtherHandsIsSaidWithTheWayOut(t *testing.T) {
	f := newFixture(t)
	f.key.Stack = "network"
	f.lock(aLock)
	other := newLockInfo("apply", "me")
	err := f.Lock(t.Context(), f.key, other)
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(&LockedError{Key: f.key, Info: aLock, Action: "lock"}, locked); diff != "" {
		t.Error(diff)
	}
	stack := f.key.Namespace + "/network"
	want := "lock " + stack + ": state locked by ci@build7 since 2026-03-04T10:02:00Z for OperationTypeApply (lock 3f2a).\n" +
		"Another run may be writing it. If that run is gone:\n    yuba force-unlock " + stack + " 3f2a"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if err := f.Unlock(t.Context(), f.key, other.ID); !errors.As(err, &locked) {
		t.Errorf("unlock with another id: %v", err)
	}
	f.wantHolder(&aLock)
}

func TestOneOfManyGetsTheLock(t *testing.T) {
	f := newFixture(t)
	for range 3 { // first the Lease is made, then it is updated
		var wins atomic.Int32
		var winner atomic.Value
		var racers sync.WaitGroup
		for range 8 {
			racers.Go(func() {
				info := newLockInfo("apply", "racer")
				err := f.Lock(t.Context(), f.key, info)
				var locked *LockedError
				switch {
				case err == nil:
					wins.Add(1)
					winner.Store(info.ID)
				case !errors.As(err, &locked):
					t.Error(err)
				}
			})
		}
		racers.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d got the lock", wins.Load())
		}
		if err := f.Unlock(t.Context(), f.key, winner.Load().(string)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALockWithADamagedAnnotationIsStillHeld(t *testing.T) {
	f := newFixture(t)
	f.lock(aLock)
	lease, err := f.getLease(t.Context(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	lease.Annotations[annotationLock] = "{"
	if err := f.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	f.wantHolder(&LockInfo{ID: aLock.ID})
	if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
		t.Error(err)
	}
}

func TestALockErrorObeysNobody(t *testing.T) {
	hostile := LockInfo{ID: "x'; rm -rf ~", Who: "me\x1b[2J\nfake: line", Operation: "a\rb"}
	err := &LockedError{Key: Key{Namespace: "team-a", Suffix: "vpc"}, Info: hostile, Action: "lock"}
	want := "lock team-a/vpc: state locked by me[2Jfake: line for ab (lock x'; rm -rf ~).\n" +
		"Another run may be writing it. If that run is gone:\n    yuba force-unlock team-a/vpc " + `'x'\''; rm -rf ~'`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
