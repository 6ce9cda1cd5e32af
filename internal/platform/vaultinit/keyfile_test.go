// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
)

// The keys exist once, so a save that fails must not touch them: a second name of the old file shows writes in place.
func TestKeysAreNeverOverwrittenInPlace(t *testing.T) {
	dir := t.TempDir()
	o, old := Options{KeyFile: filepath.Join(dir, "keys.json")}, filepath.Join(t.TempDir(), "old")
	f := File{Threshold: 1, Shares: []Share{{"ada", "sealed"}}, RootToken: "sealed"}
	if err := reserve(o.KeyFile, PhaseNone, f); err != nil {
		t.Fatal(err)
	}
	f.Phase = PhaseSealed
	if err := f.fill(o.KeyFile); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(o.KeyFile, old); err != nil {
		t.Fatal(err)
	}
	if err := o.done(&f); err != nil {
		t.Fatal(err)
	}
	was, err := readFile(old)
	if err != nil || was.Phase != PhaseSealed || was.RootToken == "" || len(was.Shares) != 1 {
		t.Errorf("the file with the keys was overwritten: %+v (%v)", was, err)
	}
	now, err := readFile(o.KeyFile)
	if err != nil || now.Phase != PhaseDone || now.RootToken != "" || len(now.Shares) != 1 {
		t.Errorf("the key file has %+v (%v)", now, err)
	}
	info, err := os.Stat(o.KeyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode: %v (%v)", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the key file: %v (%v)", entries, err)
	}
	// A directory in its place makes the last step of a save fail.
	if err := errors.Join(os.Remove(o.KeyFile), os.MkdirAll(filepath.Join(o.KeyFile, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := o.done(&f); err == nil {
		t.Error("a failed save was not told")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a failed save left %v (%v)", entries, err)
	}
}

// While a call works, another one with the same key file does nothing, also by another name of it.
func TestOneCallAtATimeHasTheKeyFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "keys.json"), filepath.Join(dir, "link.json")
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(reserve(path, PhaseNone, File{}), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	// Nobody listens at this address: a call that comes past the lock fails otherwise.
	o := Options{Address: "http://127.0.0.1:1", KeyFile: path, Recipients: []age.Recipient{identity.Recipient()}, RecipientTexts: []string{"ada"}}
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	for _, o.KeyFile = range []string{path, link} {
		if _, err := Run(t.Context(), o); !errors.As(err, &refused) {
			t.Errorf("a second call with %s: %v", o.KeyFile, err)
		}
	}
	unlock()
	if _, err := Run(t.Context(), o); err == nil || errors.As(err, &refused) {
		t.Errorf("when the first has ended: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.lock")); err != nil || len(left) > 0 {
		t.Errorf("locks are left: %v (%v)", left, err)
	}
}

// A file that appears after the key file was looked for is somebody's: it is not overwritten.
func TestAReservationOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reserve(path, PhaseNone, File{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("it was reserved: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("it has %q now (%v)", data, err)
	}
}
