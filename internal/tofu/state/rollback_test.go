// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rollback goes back to a version as somebody who holds no lock.
func (f *fixture) rollback(id string) Rollback {
	f.t.Helper()
	done, err := f.Rollback(f.t.Context(), f.key, id, By{Holder: newLockInfo("state rollback", "ann@desk")})
	if err != nil {
		f.t.Fatal(err)
	}
	if holder, err := f.Holder(f.t.Context(), f.key); err != nil || holder != nil {
		f.t.Errorf("the lock afterwards: %+v, %v", holder, err)
	}
	return done
}

func TestARollbackIsANewVersionAboveAllOthers(t *testing.T) {
	f := newFixture(t)
	first := f.write("run-1", Mark{}, aState(1, "a"))
	f.write("run-2", first.Mark(), aState(9, "b"))
	done := f.rollback(first.ID)
	if diff := cmp.Diff(first, done.From); diff != "" {
		t.Error(diff)
	}
	if done.SerialKept || done.To.Serial != 10 || done.To.Lineage != "line" {
		t.Errorf("got %+v", done)
	}
	f.wantState(aState(10, "a"))
	f.wantHistory("10 rollback to version "+first.ID+" by ann@desk", "9 run-2", "1 run-1")
}

func TestARollbackBringsBackAStateThatVanished(t *testing.T) {
	f := newFixture(t)
	version := f.write("run-1", Mark{}, aState(1, "a"))
	f.deleteSecret()
	f.rollback(version.ID)
	f.wantState(aState(2, "a"))
}

func TestARollbackReplacesWhatIsNotAStateAndKeepsACopy(t *testing.T) {
	f := newFixture(t)
	version := f.write("run-1", Mark{}, aState(1, "a"))
	f.meddle(map[string][]byte{dataKey: []byte("garbage")})
	f.rollback(version.ID)
	f.wantState(aState(2, "a"))
	copies := 0
	for info, err := range f.blobs.List(t.Context(), "corrupt/"+f.key.Namespace+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if data, err := f.stored.Get(t.Context(), info.Key, 100); err != nil || string(data) != "garbage" {
			t.Errorf("the copy: %q, %v", data, err)
		}
		copies++
	}
	if copies != 1 {
		t.Errorf("%d copies", copies)
	}
}

func TestARollbackKeepsAStateByOtherMeans(t *testing.T) {
	f := newFixture(t)
	version := f.write("run-1", Mark{}, aState(1, "a"))
	f.meddle(packed(t, aState(20, "foreign")))
	f.rollback(version.ID)
	f.wantState(aState(21, "a"))
	f.wantHistory("21 rollback to version "+version.ID+" by ann@desk",
		"20 found in the Secret, written by another program", "1 run-1")
}

func TestARollbackWaitsForNobody(t *testing.T) {
	f := newFixture(t)
	version := f.write("run-1", Mark{}, aState(1, "a"))
	other := newLockInfo("apply", "bob@desk")
	if err := f.Lock(t.Context(), f.key, other); err != nil {
		t.Fatal(err)
	}
	_, err := f.Rollback(t.Context(), f.key, version.ID, By{Holder: newLockInfo("state rollback", "ann@desk")})
	var locked *LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), "state locked by bob@desk") {
		t.Errorf("got %v", err)
	}
	f.wantHistory("1 run-1")

	// Whoever has the lock already keeps it.
	if _, err := f.Rollback(t.Context(), f.key, version.ID, By{Holder: other}); err != nil {
		t.Fatal(err)
	}
	if holder, err := f.Holder(t.Context(), f.key); err != nil || holder == nil || holder.ID != other.ID {
		t.Errorf("the lock afterwards: %+v, %v", holder, err)
	}
}

func TestARollbackOfAnEncryptedStateKeepsItsSerial(t *testing.T) {
	f := newFixture(t)
	encrypted, err := os.ReadFile("../statefile/testdata/states/encrypted.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	first := f.write("run-1", Mark{}, encrypted)
	if !first.Encrypted || first.Serial != 1 {
		t.Fatalf("%+v", first)
	}
	f.write("run-2", first.Mark(), aState(2, "b"))
	if done := f.rollback(first.ID); !done.SerialKept || done.To.Serial != 1 {
		t.Errorf("got %+v", done)
	}
	f.wantState(encrypted)
}

func TestARollbackToAVersionThatIsNotThereTakesNoLock(t *testing.T) {
	f := newFixture(t)
	_, err := f.Rollback(t.Context(), f.key, "00000000000000000001-1", By{Holder: newLockInfo("state rollback", "ann@desk")})
	if !errors.Is(err, ErrNoVersion) || !strings.Contains(err.Error(), "yuba state history") {
		t.Errorf("got %v", err)
	}
	if lease, err := f.getLease(t.Context(), f.key); err != nil || lease != nil {
		t.Errorf("a Lease was made: %v, %v", lease, err)
	}
}
