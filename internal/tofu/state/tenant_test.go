// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// found is how many of a list a tenant's label finds.
func (f *fixture) found(list client.ObjectList, uid string) int {
	f.t.Helper()
	err := f.client.List(f.t.Context(), list, client.InNamespace(f.key.Namespace), client.MatchingLabels{tenantv1.LabelUID: uid})
	if err != nil {
		f.t.Fatal(err)
	}
	switch l := list.(type) {
	case *corev1.SecretList:
		return len(l.Items)
	case *coordinationv1.LeaseList:
		return len(l.Items)
	}
	return -1
}

func TestATenantsStatesAndLocksAreFoundByItsLabel(t *testing.T) {
	f := newFixture(t)
	// A lock from the time before the stack was a tenant's.
	f.lock(aLock)
	if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
		t.Fatal(err)
	}
	if n := f.found(&coordinationv1.LeaseList{}, "acme"); n != 0 {
		t.Fatalf("%d Leases are acme's before the stack is", n)
	}
	f.key.Scope = "acme"
	f.lock(aLock)
	// What the stack asks for does not say whose it is.
	_, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(1, "a"), RunID: "run-1",
		Labels: map[string]string{"team": "a", tenantv1.LabelUID: "beta"}})
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[string]int{"acme": 1, "beta": 0} {
		if secrets, leases := f.found(&corev1.SecretList{}, uid), f.found(&coordinationv1.LeaseList{}, uid); secrets != want || leases != want {
			t.Errorf("%d Secrets and %d Leases are %s's, want %d of each", secrets, leases, uid, want)
		}
	}
	secret, err := f.getSecret(t.Context(), f.key)
	if err != nil || secret == nil {
		t.Fatalf("%v %v", secret, err)
	}
	if secret.Labels["team"] != "a" || secret.Labels[labelState] != "true" {
		t.Errorf("the labels are %v", secret.Labels)
	}
}

func TestAnotherTenantsStateIsNeitherReadNorWritten(t *testing.T) {
	f := newFixture(t)
	f.key.Scope = "beta"
	f.lock(aLock)
	first, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(1, "s3cr3t"), RunID: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
		t.Fatal(err)
	}
	key := f.key
	key.Scope, key.Stack = "acme", "acme-db"
	by := By{Holder: newLockInfo("OperationTypeApply", "somebody")}
	for way, use := range map[string]func() error{
		"read": func() error {
			_, err := f.Read(t.Context(), key)
			return err
		},
		"read a version": func() error {
			_, _, err := f.ReadVersion(t.Context(), key, first.ID)
			return err
		},
		"write": func() error {
			_, err := f.Write(t.Context(), key, WriteRequest{Data: aState(2, "x"), RunID: "run-2",
				Previous: Mark{Serial: first.Serial, Lineage: first.Lineage, Digest: first.Digest}})
			return err
		},
		"push with force": func() error {
			_, err := f.Push(t.Context(), key, PushRequest{Data: aState(9, "x"), Force: true, By: by})
			return err
		},
		"roll back": func() error {
			_, err := f.Rollback(t.Context(), key, first.ID, by)
			return err
		},
	} {
		err := use()
		var owned *OwnedError
		if !errors.As(err, &owned) || !strings.Contains(err.Error(), `belongs to tenant "beta", but the stack belongs to tenant "acme"`) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: got %v", way, err)
		}
	}
	if _, err := f.Write(t.Context(), key, WriteRequest{Data: aState(1, "x"), RunID: "run-3"}); err == nil {
		t.Error("a first state was written over it")
	}
	if now, err := f.Read(t.Context(), f.key); err != nil || now.Digest != first.Digest {
		t.Errorf("the state is %v, %v", now, err)
	}
	// Whoever took the lock for a moment has not made it its own.
	if beta, acme := f.found(&coordinationv1.LeaseList{}, "beta"), f.found(&coordinationv1.LeaseList{}, "acme"); beta != 1 || acme != 0 {
		t.Errorf("%d Leases are beta's and %d acme's", beta, acme)
	}
	// Nobody's stack is no matter of tenants.
	key.Scope = ""
	if now, err := f.Read(t.Context(), key); err != nil || now.Digest != first.Digest {
		t.Errorf("the state is %v, %v", now, err)
	}
}

// A version says whose it is when nothing else does any more.
func TestVersionsSayWhoseTheyAre(t *testing.T) {
	f := newFixture(t)
	f.key.Scope = "beta"
	first := f.write("run-1", Mark{}, aState(1, "s3cr3t"))
	f.deleteSecret()
	for version, err := range f.Versions(t.Context(), f.key) {
		if err != nil || version.Scope != "beta" {
			t.Errorf("version %s is %q's, %v", version.ID, version.Scope, err)
		}
	}
	acme := f.key
	acme.Scope, acme.Stack = "acme", "acme-db"
	_, read := f.Read(t.Context(), acme)
	_, _, readVersion := f.ReadVersion(t.Context(), acme, first.ID)
	_, rollback := f.Rollback(t.Context(), acme, first.ID, By{Holder: aLock})
	for way, err := range map[string]error{"read": read, "read a version": readVersion, "roll back": rollback} {
		var owned *OwnedError
		if !errors.As(err, &owned) || !strings.Contains(err.Error(), "version "+first.ID+` belongs to tenant "beta"`) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: got %v", way, err)
		}
	}
	if now, err := f.Read(t.Context(), f.key); err != nil || now.Digest != first.Digest {
		t.Errorf("its own state is %v, %v", now, err)
	}
}

func TestOnlyWhatSaysNothingIsDiscarded(t *testing.T) {
	nothing := []byte(`{"version": 4, "serial": 2, "lineage": "line", "outputs": {}, "resources": []}`)
	for sentence, test := range map[string]struct {
		state []byte
		locks bool
		key   func(*Key)
		goes  bool
	}{
		"nothing is left of it":     {state: nothing, goes: true},
		"it manages something":      {state: []byte(`{"version": 4, "serial": 2, "lineage": "line", "resources": [{"mode": "managed", "type": "a", "name": "b", "provider": "p", "instances": [{"attributes": {}}]}]}`)},
		"it puts something out":     {state: aState(2, "x")},
		"tofu encrypted it":         {state: []byte(`{"serial": 2, "lineage": "line", "meta": {}, "encrypted_data": "x", "encryption_version": "v0"}`)},
		"somebody holds its lock":   {state: nothing, locks: true},
		"it is another tenant's":    {state: nothing, key: func(k *Key) { k.Scope = "beta" }},
		"another workspace's stays": {state: nothing, key: func(k *Key) { k.Workspace = "prod" }},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			f.key.Scope = "acme"
			f.lock(aLock)
			f.write("run-1", Mark{}, test.state)
			if !test.locks {
				if err := f.Unlock(t.Context(), f.key, aLock.ID); err != nil {
					t.Fatal(err)
				}
			}
			key := f.key
			if test.key != nil {
				test.key(&key)
			}
			if err := f.Discard(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			want := 1
			if test.goes {
				want = 0
			}
			if secrets, leases := f.found(&corev1.SecretList{}, "acme"), f.found(&coordinationv1.LeaseList{}, "acme"); secrets != want || leases != want {
				t.Errorf("%d Secrets and %d Leases are there, want %d of each", secrets, leases, want)
			}
			f.wantHistory("2 run-1")
		})
	}
}

// What plain tofu wrote last is in no history yet; and whoever comes after, of whatever tenant,
// goes on where the state ended.
func TestWhatIsDiscardedIsNotLost(t *testing.T) {
	f := newFixture(t)
	f.key.Scope = "acme"
	f.write("run-1", Mark{}, aState(1, "x"))
	nothing := []byte(`{"version": 4, "serial": 7, "lineage": "line", "outputs": {}, "resources": []}`)
	packed, err := compress(nothing, gzip.Header{})
	if err != nil {
		t.Fatal(err)
	}
	f.meddle(map[string][]byte{dataKey: packed})
	for range 2 { // a pass may be made again
		if err := f.Discard(t.Context(), f.key); err != nil {
			t.Fatal(err)
		}
	}
	f.wantHistory("7 found in the Secret, written by another program", "1 run-1")
	f.key.Scope = "beta"
	snapshot, err := f.Read(t.Context(), f.key, ExpectExisting())
	if err != nil || snapshot.Serial != 7 {
		t.Fatalf("%v %v", snapshot, err)
	}
	f.write("run-2", snapshot.Mark(), aState(8, "of beta"))
	f.wantState(aState(8, "of beta"))
}
