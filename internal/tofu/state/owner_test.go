// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// managing is a state with a managed resource.
func managing(serial int, name string) []byte {
	return fmt.Appendf(nil, `{"version": 4, "serial": %d, "lineage": "line", "outputs": {}, "resources": [{"mode": "managed", "type": "a", "name": %q, `+
		`"provider": "provider[\"p\"]", "instances": [{"attributes": {}}]}]}`, serial, name)
}

// managingNothing is the state that a destroy leaves, with what an encrypted one does not show.
func managingNothing(serial int) []byte {
	return fmt.Appendf(nil, `{"version": 4, "serial": %d, "lineage": "line", "outputs": {}, "resources": [{"mode": "data", "type": "a", "name": "b", `+
		`"provider": "provider[\"p\"]", "instances": [{"attributes": {}}]}]}`, serial)
}

func (f *fixture) as(name, uid string) *fixture {
	f.key.Stack, f.key.UID = name, uid
	return f
}

func (f *fixture) wantOwners(want ...Owner) {
	f.t.Helper()
	got := OwnershipOf(f.secret()).Owners
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("owners in the Secret (-want +got):\n%s", diff)
	}
	snapshot, err := f.Read(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(want, snapshot.Ownership.Owners); diff != "" {
		f.t.Errorf("owners as read (-want +got):\n%s", diff)
	}
}

func TestAStateSaysWhoseResourcesItHolds(t *testing.T) {
	former, own := Owner{"vpc", "uid-1"}, Owner{"vpc", "uid-2"}
	f := newFixture(t).as("vpc", "uid-1")
	first := f.write("run-1", Mark{}, managing(1, "a"))
	f.wantOwners(former)
	f.as("vpc", "uid-2")
	f.wantOwners(former) // reading it makes nobody its owner

	f.as("vpc", "")
	second := f.write("run-2", first.Mark(), managing(2, "moved by a person"))
	f.wantOwners(former) // nor does work by hand

	f.as("vpc", "uid-2")
	third := f.write("run-3", second.Mark(), managing(3, "b"))
	f.wantOwners(former, own)
	fourth := f.write("run-4", third.Mark(), managing(4, "c"))
	f.wantOwners(former, own)

	f.write("run-5", fourth.Mark(), managingNothing(5))
	f.wantOwners() // there is nothing left to own
}

func TestTheListOfOwnersIsBounded(t *testing.T) {
	f := newFixture(t)
	previous := Mark{}
	for i := range maxOwners + 2 {
		previous = f.as("vpc", fmt.Sprint("uid-", i)).write(fmt.Sprint("run-", i), previous, managing(i+1, "a")).Mark()
	}
	o := OwnershipOf(f.secret())
	if len(o.Owners) != maxOwners || o.Has("uid-1") || !o.Has("uid-2") || !o.Has(fmt.Sprint("uid-", maxOwners+1)) {
		t.Errorf("owners: %v", o.Owners)
	}
}

func TestADeletedOwnerLeavesItsStateBehind(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	former := Owner{"vpc", "uid-1"}
	f := newFixture(t).as("vpc", "")
	f.write("run-1", Mark{}, managing(1, "by plain tofu"))
	f.wantOwners()
	leave := func(uid string, emptied bool) {
		t.Helper()
		if err := f.as("vpc", uid).Leave(t.Context(), f.key, at, emptied); err != nil {
			t.Fatal(err)
		}
	}
	leave("uid-1", false)
	f.wantOwners(former)
	if o := OwnershipOf(f.secret()); !o.Deleted.Equal(at) {
		t.Errorf("deleted at %s, want %s", o.Deleted, at)
	}
	// A newcomer that goes before it has done anything leaves it as it found it.
	leave("uid-2", false)
	leave("uid-2", true)
	f.wantOwners(former)

	if err := f.as("vpc", "uid-2").Claim(t.Context(), f.key); err != nil {
		t.Fatal(err)
	}
	f.wantOwners(former, Owner{"vpc", "uid-2"})
	if o := OwnershipOf(f.secret()); !o.Deleted.IsZero() {
		t.Errorf("its owner is alive, and it says %s", o.Deleted)
	}
	version := f.secret().ResourceVersion
	if err := f.Claim(t.Context(), f.key); err != nil {
		t.Fatal(err)
	}
	if now := f.secret().ResourceVersion; now != version {
		t.Error("claiming it again wrote it")
	}
	leave("uid-2", true)
	f.wantOwners()
}

func TestNobodyOwnsWhatIsNotThere(t *testing.T) {
	f := newFixture(t).as("vpc", "uid-1")
	for range 2 {
		if err := f.Claim(t.Context(), f.key); err != nil {
			t.Fatal(err)
		}
		if err := f.Leave(t.Context(), f.key, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		f.as("vpc", "").write("run-1", Mark{}, managingNothing(1))
		f.as("vpc", "uid-1")
	}
	f.wantOwners()
}

// A person who brings a state back has not thereby said that it may be destroyed.
func TestBringingAStateBackKeepsItsOwners(t *testing.T) {
	former := Owner{"vpc", "uid-1"}
	by := By{Holder: newLockInfo("OperationTypeApply", "somebody"), RunID: "run-9"}
	for sentence, back := range map[string]func(f *fixture, first Version) error{
		"by a rollback": func(f *fixture, first Version) error {
			_, err := f.Rollback(t.Context(), f.key, first.ID, by)
			return err
		},
		"by a push": func(f *fixture, _ Version) error {
			_, err := f.Push(t.Context(), f.key, PushRequest{Data: managing(1, "a"), Force: true, By: by})
			return err
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t).as("vpc", "uid-1")
			first := f.write("run-1", Mark{}, managing(1, "a"))
			f.deleteSecret()
			f.as("vpc", "")
			if err := back(f, first); err != nil {
				t.Fatal(err)
			}
			f.wantOwners(former)
		})
	}
	t.Run("an empty one has none", func(t *testing.T) {
		f := newFixture(t).as("vpc", "uid-1")
		f.write("run-1", Mark{}, managing(1, "a"))
		f.as("vpc", "")
		if _, err := f.Push(t.Context(), f.key, PushRequest{Data: managingNothing(2), By: by}); err != nil {
			t.Fatal(err)
		}
		f.wantOwners()
	})
}

// What others write into annotations must not be taken for an owner, nor break anything.
func TestOwnersThatCannotBeReadAreSkipped(t *testing.T) {
	got := OwnershipOf(&metav1.ObjectMeta{Labels: map[string]string{tenantv1.LabelUID: "acme"},
		Annotations: map[string]string{AnnotationOwners: ",,a,/x,b/,vpc/uid-1,vpc/uid/2", AnnotationDeleted: "yesterday"}})
	want := Ownership{Owners: []Owner{{"vpc", "uid-1"}, {"vpc", "uid/2"}}, Scope: "acme"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
