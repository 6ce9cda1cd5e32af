// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world has stacks a and b with states in the real API, and c without one.
type world struct {
	t         testing.TB
	namespace string
	blobs     *blob.Store
	states    *state.Store
	desk      *Desk
	dir       string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	identity, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, namespace: apitest.Namespace(t)}
	if w.blobs, err = blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"), identity); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.blobs.Close() })
	w.states = state.New(apitest.Client(t), w.blobs)
	w.start()
	w.write("a", document(7, "la", "x.one", "x.two"), "")
	w.write("b", document(3, "lb", "x.three"), "")
	return w
}

// start is a new server on the same stores.
func (w *world) start() {
	w.desk = &Desk{States: w.states, Blobs: w.blobs, Version: "test", Log: slog.New(slog.DiscardHandler)}
}

func document(serial int, lineage string, addresses ...string) []byte {
	var list []string
	for _, a := range addresses {
		_, name, _ := strings.Cut(a, ".")
		list = append(list, fmt.Sprintf(`{"mode":"managed","type":"x","name":%q,"provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":%q,"secret":"s3cret"}}]}`, name, a))
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":%q,"outputs":{},"resources":[%s]}`, serial, lineage, strings.Join(list, ","))
}

func (w *world) key(stack string) state.Key {
	return state.Key{Namespace: w.namespace, Suffix: stack, Stack: stack, UID: "uid-" + stack}
}

func (w *world) write(stack string, data []byte, previous string) {
	w.t.Helper()
	if _, err := w.states.Write(w.t.Context(), w.key(stack), state.WriteRequest{Data: data, RunID: "r0", Previous: state.Mark{Digest: previous}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stacks(names ...string) (list []Stack) {
	for _, n := range names {
		list = append(list, Stack{Key: w.key(n), Labels: map[string]string{"team": "x"}})
	}
	return list
}

func (w *world) read(stack string) (*state.Snapshot, string) {
	w.t.Helper()
	s, err := w.states.Read(w.t.Context(), w.key(stack))
	if err != nil {
		w.t.Fatal(err)
	}
	if s.Data == nil {
		return s, "none"
	}
	file, err := statefile.Parse(s.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	var have []string
	for _, r := range file.Resources {
		have = append(have, r.Address)
	}
	slices.Sort(have)
	return s, strings.Join(have, " ")
}

// all is what the three states have, and who holds their locks.
func (w *world) all() string {
	w.t.Helper()
	var parts []string
	for _, name := range []string{"a", "b", "c"} {
		_, text := w.read(name)
		if holder, err := w.states.HolderNow(w.t.Context(), w.key(name)); err != nil {
			w.t.Fatal(err)
		} else if holder != nil {
			text += " (locked by " + holder.ID + ")"
		}
		parts = append(parts, name+": "+text)
	}
	return strings.Join(parts, "; ")
}

const (
	beforeAll = "a: x.one x.two; b: x.three; c: none"
)

func (w *world) propose() *Record {
	w.t.Helper()
	// b.three moves to c, where a.one could not go; a.one moves to b.
	r, err := w.desk.Propose(w.t.Context(), w.namespace, "ann", w.stacks("a", "b", "c"), []moves.Step{
		{Verb: moves.Move, State: "b", From: "x.three", ToState: "c", To: "x.drei"},
		{Verb: moves.Move, State: "a", From: "x.one", ToState: "b", To: "x.uno"},
		{Verb: moves.Move, State: "c", From: "x.drei", ToState: "b", To: "x.three"},
		{Verb: moves.Move, State: "b", From: "x.three", ToState: "c", To: "x.drei"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

const moved = "a: x.two; b: x.uno; c: x.drei"

func TestARefactoringAndItsUndo(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	if got := w.all(); got != beforeAll {
		t.Fatalf("a proposal changed something: %s", got)
	}
	data, err := w.desk.State(t.Context(), w.namespace, r.ID, "c")
	if err != nil || !strings.Contains(string(data), "drei") {
		t.Fatalf("the proposed state: %v", err)
	}
	done, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "bob"})
	if err != nil || done.Phase != Applied || done.AppliedBy != "bob" || w.all() != moved {
		t.Fatalf("%v, %+v, %s", err, done, w.all())
	}
	if again, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "bob"}); err != nil || again.Phase != Applied {
		t.Errorf("a repeated request: %v", err)
	}
	for name, want := range map[string]struct {
		lineage string
		serial  uint64
	}{"a": {"la", 8}, "b": {"lb", 4}} {
		if s, _ := w.read(name); s.Lineage != want.lineage || s.Serial != want.serial || !s.Ownership.Has("uid-"+name) {
			t.Errorf("%s has lineage %s, serial %d, owners %+v", name, s.Lineage, s.Serial, s.Ownership)
		}
	}
	for v, err := range w.states.Versions(t.Context(), w.key("a")) {
		if err != nil || v.RunID != r.ID || !strings.Contains(v.Reason, "by bob") {
			t.Errorf("the newest version: %+v, %v", v, err)
		}
		break
	}
	undo, err := w.desk.ProposeUndo(t.Context(), w.namespace, r.ID, "ann", w.stacks("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, undo.ID, Approval{By: "ann"}); err != nil || w.all() != "a: x.one x.two; b: x.three; c: " {
		t.Fatalf("%v: %s", err, w.all())
	}
	if s, _ := w.read("a"); s.Lineage != "la" || s.Serial != 9 || !strings.Contains(string(s.Data), "s3cret") {
		t.Errorf("after the undo a has serial %d", s.Serial)
	}
	if _, err := w.desk.ProposeUndo(t.Context(), w.namespace, r.ID, "ann", w.stacks("a", "b", "c")); err == nil || !strings.Contains(err.Error(), undo.ID+" has undone it already") {
		t.Errorf("a second undo: %v", err)
	}
	list, _, err := w.desk.List(t.Context(), w.namespace)
	if err != nil || len(list) != 2 {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// TestAnUndoAfterFurtherRuns: what runs wrote since then stays.
func TestAnUndoAfterFurtherRuns(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	now, _ := w.read("b")
	w.write("b", document(9, "lb", "x.uno", "x.later"), now.Digest)
	undo, err := w.desk.ProposeUndo(t.Context(), w.namespace, r.ID, "ann", w.stacks("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, undo.ID, Approval{By: "ann"}); err != nil || w.all() != "a: x.one x.two; b: x.later x.three; c: " {
		t.Errorf("%v: %s", err, w.all())
	}
}

var errKilled = errors.New("the server was killed")

// TestAServerKilledAtEachStep: the next one carries the refactoring on, or takes it back.
func TestAServerKilledAtEachStep(t *testing.T) {
	var steps []string
	w := newWorld(t)
	first := w.propose()
	w.desk.broken = func(step string) error {
		if step != "retreat" {
			steps = append(steps, step)
		}
		return nil
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, first.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 9 {
		t.Fatalf("only these steps: %q", steps)
	}
	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t)
			dead := false
			w.desk.broken = func(step string) error {
				dead = dead || step == at
				if dead {
					return errKilled
				}
				return nil
			}
			r := w.propose()
			_, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"})
			if !errors.Is(err, errKilled) {
				t.Fatalf("it was not killed: %v", err)
			}
			w.start()
			open, err := w.desk.Repair(t.Context())
			if err != nil || open != 0 {
				t.Fatalf("%d are open, %v", open, err)
			}
			r, err = w.desk.Get(t.Context(), w.namespace, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			switch got := w.all(); {
			case got == moved && r.Phase == Applied, got == beforeAll && r.Phase == Proposed:
			default:
				t.Errorf("it is %s, with %s", r.Phase, got)
			}
			if r.Phase == Proposed { // nothing is in the way of another try
				if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); err != nil || w.all() != moved {
					t.Errorf("the second time: %v, %s", err, w.all())
				}
			}
		})
	}
}

// TestAWriterInSpiteOfTheLock: plain tofu with -lock=false writes a member while the server is away.
func TestAWriterInSpiteOfTheLock(t *testing.T) {
	w := newWorld(t)
	w.desk.broken = func(step string) error {
		if step == "wrote a" || step == "retreat" {
			return errKilled
		}
		return nil
	}
	r := w.propose()
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	now, _ := w.read("b")
	w.write("b", document(5, "lb", "x.three", "x.foreign"), now.Digest)
	w.start()
	_, err := w.desk.Repair(t.Context())
	var no *RefusedError
	if !errors.As(err, &no) || w.all() != "a: x.one x.two; b: x.foreign x.three; c: none" {
		t.Errorf("%v: %s", err, w.all())
	}
	if r, err = w.desk.Get(t.Context(), w.namespace, r.ID); err != nil || r.Phase != Failed || !strings.Contains(r.Message, "restored") || r.Members[1].NotRestored == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if s, _ := w.read("a"); s.Serial != 9 || s.Lineage != "la" {
		t.Errorf("a has serial %d", s.Serial)
	}
}

func TestRefactoringsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	one := []moves.Step{{Verb: moves.Move, State: "a", From: "x.one", ToState: "b", To: "x.one"}}
	refusedWith := func(what, want string, err error) {
		t.Helper()
		var no *RefusedError
		var locked *state.LockedError
		if !errors.As(err, &no) && !errors.As(err, &locked) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		if got := w.all(); !strings.HasPrefix(got, "a: x.one x.two") || !strings.Contains(got, "b: x.three") {
			t.Errorf("%s changed something: %s", what, got)
		}
	}
	_, err := w.desk.Propose(ctx, w.namespace, "ann", w.stacks("a", "b"), []moves.Step{{Verb: moves.Move, State: "a", From: "x.onne", ToState: "b", To: "x.one", Place: "f.hcl:1"}})
	refusedWith("a missing address", "f.hcl:1: move x.onne of a to x.one of b: nothing is at x.onne; did you mean x.one?", err)
	r, err := w.desk.Propose(ctx, w.namespace, "ann", w.stacks("a", "b"), one)
	if err != nil {
		t.Fatal(err)
	}
	// Two people at once: one of them has the locks.
	if err := w.states.Lock(ctx, w.key("b"), state.LockInfo{ID: "other", Who: "bob"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.desk.Apply(ctx, w.namespace, r.ID, Approval{By: "ann", Unpreviewed: true})
	refusedWith("a lock of somebody else", "bob", err)
	if holder, err := w.states.HolderNow(ctx, w.key("a")); err != nil || holder != nil {
		t.Errorf("the lock of a stayed: %+v, %v", holder, err)
	}
	if r, err = w.desk.Get(ctx, w.namespace, r.ID); err != nil || r.Phase != Proposed || r.AppliedBy != "" || r.Unpreviewed {
		t.Errorf("a proposal again, with an approval: %+v, %v", r, err)
	}
	_, err = w.desk.Apply(ctx, w.namespace, r.ID, Approval{By: "ann", Judge: func(context.Context, *Record) error { return refused("not previewed") }})
	refusedWith("a judge", "not previewed", err)
	if err := w.states.Unlock(ctx, w.key("b"), "other"); err != nil {
		t.Fatal(err)
	}
	second, err := w.desk.Propose(ctx, w.namespace, "bob", w.stacks("a", "b"), []moves.Step{{Verb: moves.Move, State: "b", From: "x.three", To: "x.four"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(ctx, w.namespace, second.ID, Approval{By: "bob"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.desk.Apply(ctx, w.namespace, r.ID, Approval{By: "ann"})
	if err == nil || !strings.Contains(err.Error(), "has changed since the preview") {
		t.Errorf("a state that changed: %v", err)
	}
	_, err = w.desk.Apply(ctx, w.namespace, "../../x", Approval{By: "ann"})
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("an id that leaves the directory: %v", err)
	}
	w.write("c", []byte(`{"serial":1,"lineage":"","meta":{},"encrypted_data":"x","encryption_version":"v0"}`), "")
	_, err = w.desk.Propose(ctx, w.namespace, "ann", w.stacks("a", "c"), []moves.Step{{Verb: moves.Move, State: "a", From: "x.one", ToState: "c", To: "x.one"}})
	if err == nil || !strings.Contains(err.Error(), "OpenTofu encrypted its state") {
		t.Errorf("an encrypted state: %v", err)
	}
}

func TestTwoRequestsAtOnce(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	inside, goOn := make(chan struct{}), make(chan struct{})
	w.desk.broken = func(step string) error {
		if step == "locked a" {
			close(inside)
			<-goOn
		}
		return nil
	}
	end := make(chan error, 1)
	go func() {
		_, err := w.desk.Apply(context.WithoutCancel(t.Context()), w.namespace, r.ID, Approval{By: "ann"})
		end <- err
	}()
	<-inside
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "bob"}); err == nil || !strings.Contains(err.Error(), "being applied already") {
		t.Errorf("the second: %v", err)
	}
	close(goOn)
	if err := <-end; err != nil || w.all() != moved {
		t.Errorf("the first: %v, %s", err, w.all())
	}
}
