// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

// blobsOf are the names of the blobs of the refactorings of a world.
func (w *world) blobsOf() (names []string) {
	w.t.Helper()
	for info, err := range w.blobs.List(w.t.Context(), prefix+w.namespace+"/") {
		if err != nil {
			w.t.Fatal(err)
		}
		names = append(names, path.Base(info.Key))
	}
	return names
}

// TestADamagedRecordDoesNotHoldUpTheOthers: a server ended while it applied a refactoring, and the record of another
// one is damaged.
func TestADamagedRecordDoesNotHoldUpTheOthers(t *testing.T) {
	w := newWorld(t)
	r, idle := w.propose(), w.propose()
	w.desk.broken = func(step string) error {
		if step == "wrote a" {
			return errKilled
		}
		return nil
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	const damaged = "refactor-20261128-100000-0badf00d"
	for id, text := range map[string]string{damaged: "{", "refactor-of-another-namespace": `{"id":"refactor-x","namespace":"x","phase":"writing"}`} {
		if err := w.blobs.PutBytes(t.Context(), w.desk.store().place(w.namespace, id, recordName), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	says := func(err error) bool {
		return errors.Is(err, errDamaged) && strings.Contains(err.Error(), damaged) && strings.Contains(err.Error(), "yuba force-unlock STACK "+damaged)
	}
	w.start()
	log := w.logged()
	open, err := w.desk.Repair(t.Context())
	if open != 0 || err != nil || w.all() != moved {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
	if _, err := w.desk.Repair(t.Context()); err != nil || strings.Count(log.String(), "yuba force-unlock STACK "+damaged) != 1 {
		t.Errorf("the second repair: %v, the log is\n%s", err, log)
	}
	if list, _, err := w.desk.List(t.Context(), w.namespace); err != nil || len(list) != 2 {
		t.Errorf("%d records, %v", len(list), err)
	}
	if _, err := w.desk.Propose(t.Context(), w.namespace, "ann", w.stacks("a"), []moves.Step{{Verb: moves.Move, State: "a", From: "x.two", To: "x.zwei"}}); err != nil {
		t.Errorf("another proposal: %v", err)
	}
	w.desk.Now = func() time.Time { return time.Now().Add(proposalLife + time.Hour) }
	if err := w.desk.Collect(t.Context()); !says(err) {
		t.Errorf("the collection: %v", err)
	}
	if _, err := w.desk.Get(t.Context(), w.namespace, idle.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old proposal: %v", err)
	}
}

// TestARecordThatCannotBeReadDoesNotHoldUpTheOthers: opening one record fails, not because it does not exist, and a server
// ended while it applied another.
func TestARecordThatCannotBeReadDoesNotHoldUpTheOthers(t *testing.T) {
	w := newWorld(t)
	bad, r := w.propose(), w.propose()
	w.desk.broken = func(step string) error {
		if step == "wrote a" {
			return errKilled
		}
		return nil
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	name := filepath.Join(w.dir, "blobs", w.desk.store().place(w.namespace, bad.ID, recordName))
	aside := filepath.Join(t.TempDir(), recordName)
	if err := errors.Join(os.Rename(name, aside), os.Symlink(recordName, name)); err != nil { // a loop
		t.Fatal(err)
	}
	w.start()
	log := w.logged()
	open, err := w.desk.Repair(t.Context())
	if open != 0 || !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), bad.ID) || strings.Contains(err.Error(), "force-unlock") || w.all() != moved {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
	list, skipped, err := w.desk.List(t.Context(), w.namespace)
	if err != nil || len(list) != 1 || len(skipped) != 1 || !strings.Contains(skipped[0], bad.ID) || strings.Count(log.String(), "skipping a refactoring") != 1 {
		t.Errorf("%d records, %q, %v, the log is\n%s", len(list), skipped, err, log)
	}
	if _, err := w.desk.Propose(t.Context(), w.namespace, "ann", w.stacks("a"), []moves.Step{{Verb: moves.Move, State: "a", From: "x.two", To: "x.zwei"}}); err != nil {
		t.Errorf("another proposal: %v", err)
	}
	w.desk.Now = func() time.Time { return time.Now().Add(proposalLife + time.Hour) }
	if err := w.desk.Collect(t.Context()); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("the collection: %v", err)
	}
	if err := errors.Join(os.Remove(name), os.Rename(aside, name)); err != nil { // mended
		t.Fatal(err)
	}
	if open, err := w.desk.Repair(t.Context()); open != 0 || err != nil {
		t.Errorf("afterwards %d are open, %v", open, err)
	}
	if _, skipped, err := w.desk.List(t.Context(), w.namespace); err != nil || len(skipped) > 0 {
		t.Errorf("afterwards: %q, %v", skipped, err)
	}
}

// logged makes the server log to a text.
func (w *world) logged() *bytes.Buffer {
	log := &bytes.Buffer{}
	w.desk.Log = slog.New(slog.NewTextHandler(log, nil))
	return log
}

// seal makes the blob of a record one that the key does not decrypt.
func (w *world) seal(id string) {
	w.t.Helper()
	name := filepath.Join(w.dir, "blobs", w.desk.store().place(w.namespace, id, recordName))
	if _, err := os.Stat(name); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("sealed with another key"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestTheWrongKeyLosesNoRecord: one record that the key does not decrypt is damaged; if it decrypts none, it is the
// wrong key, and nobody is told to release locks.
func TestTheWrongKeyLosesNoRecord(t *testing.T) {
	w := newWorld(t)
	one, other := w.propose(), w.propose()
	log := w.logged()
	w.seal(one.ID)
	if list, _, err := w.desk.List(t.Context(), w.namespace); err != nil || len(list) != 1 || !strings.Contains(log.String(), one.ID) {
		t.Errorf("one of two: %d records, %v, the log is\n%s", len(list), err, log)
	}
	log.Reset()
	w.seal(other.ID)
	// A record of another namespace, of which nothing is said here.
	foreign := filepath.Join(w.dir, "blobs", w.desk.store().place("zz-foreign", "refactor-foreign", recordName))
	if err := errors.Join(os.MkdirAll(filepath.Dir(foreign), 0o700), os.WriteFile(foreign, []byte("sealed with another key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	list, _, err := w.desk.List(t.Context(), w.namespace)
	var sealed *blob.SealError
	if !errors.As(err, &sealed) || len(list) > 0 || strings.Contains(err.Error(), "foreign") || !strings.Contains(err.Error(), "Restore the key of the blob store") {
		t.Errorf("none: %d records, %v", len(list), err)
	}
	if _, err := w.desk.Repair(t.Context()); !errors.As(err, &sealed) || strings.Contains(log.String()+err.Error(), "force-unlock") {
		t.Errorf("the repair: %v, the log is\n%s", err, log)
	}
	const elsewhere = "refactor-elsewhere"
	if err := w.blobs.PutBytes(t.Context(), w.desk.store().place("elsewhere", elsewhere, recordName), []byte(`{"id":"`+elsewhere+`","namespace":"elsewhere","phase":"applied"}`)); err != nil {
		t.Fatal(err)
	}
	if list, _, err := w.desk.List(t.Context(), w.namespace); err != nil || len(list) > 0 || !strings.Contains(log.String(), other.ID) {
		t.Errorf("the only one of a namespace: %d records, %v, the log is\n%s", len(list), err, log)
	}
}

// TestAProposalThatIsNotStoredLeavesNothing: its person pressed Ctrl-C.
func TestAProposalThatIsNotStoredLeavesNothing(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.desk.broken = func(step string) error {
		if step == "stored b" {
			if got := w.blobsOf(); !slices.Equal(got, []string{"after-a", "after-b", "before-a", "before-b"}) {
				t.Errorf("before the end: %q", got)
			}
			cancel()
			return ctx.Err()
		}
		return nil
	}
	_, err := w.desk.Propose(ctx, w.namespace, "ann", w.stacks("a", "b"), []moves.Step{{Verb: moves.Move, State: "a", From: "x.one", ToState: "b", To: "x.one"}})
	if !errors.Is(err, context.Canceled) || len(w.blobsOf()) > 0 {
		t.Errorf("%v, and these blobs: %q", err, w.blobsOf())
	}
}

// TestBlobsWithoutARecordAreCollected: a server was killed while it stored or deleted a proposal.
func TestBlobsWithoutARecordAreCollected(t *testing.T) {
	w := newWorld(t)
	if _, err := w.desk.Apply(t.Context(), w.namespace, w.propose().ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	applied := w.blobsOf()
	killed := &Record{Namespace: w.namespace, ID: "refactor-20261128-100000-0badf00d"}
	for _, when := range []string{before, after} {
		if err := w.desk.store().putState(t.Context(), killed, when, "a", document(7, "la", "x.one")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.desk.Collect(t.Context()); err != nil || len(w.blobsOf()) != len(applied)+2 {
		t.Errorf("a proposal that is being stored: %v, %q", err, w.blobsOf())
	}
	w.desk.Now = func() time.Time { return time.Now().Add(proposalLife + time.Hour) }
	if err := w.desk.Collect(t.Context()); err != nil || !slices.Equal(w.blobsOf(), applied) {
		t.Errorf("an old one: %v, %q, want %q", err, w.blobsOf(), applied)
	}
}
