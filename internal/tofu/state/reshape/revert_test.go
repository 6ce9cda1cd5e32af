// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// killedAfter applies a refactoring whose server is killed at a step, and starts the next server.
func (w *world) killedAfter(step string) *Record {
	w.t.Helper()
	w.desk.broken = func(s string) error {
		if s == step || s == "retreat" {
			return errKilled
		}
		return nil
	}
	r := w.propose()
	if _, err := w.desk.Apply(w.t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errKilled) {
		w.t.Fatal(err)
	}
	w.start()
	return r
}

// TestARevertNamesWhatItCannotRestore: somebody else wrote one member, the others are restored. The person
// and the stack's events must not say that all were.
func TestARevertNamesWhatItCannotRestore(t *testing.T) {
	w := newWorld(t)
	r := w.killedAfter("wrote a")
	now, _ := w.read("b")
	w.write("b", document(5, "lb", "x.three", "x.foreign"), now.Digest)
	_, err := w.desk.Repair(t.Context())
	var no *RefusedError
	if !errors.As(err, &no) || !strings.Contains(err.Error(), "1 of 3 states could not be restored") || !strings.Contains(err.Error(), "yuba state history "+w.namespace+"/b") {
		t.Error(err)
	}
	r, err = w.desk.Get(t.Context(), w.namespace, r.ID)
	if err != nil || r.Phase != Failed || strings.Contains(r.Message, "states were restored") || w.all() != "a: x.one x.two; b: x.foreign x.three; c: none" {
		t.Fatalf("%v, %+v: %s", err, r, w.all())
	}
	for i, want := range []string{"and the state was restored", "the state was not restored after a failure: somebody else", "and the state was restored"} {
		if got := r.Outcome(&r.Members[i]); !strings.Contains(got, want) {
			t.Errorf("%s: %s", r.Members[i].Stack, got)
		}
	}
}

// TestARevertThatIsRepeated: what an earlier server restored is not somebody else's.
func TestARevertThatIsRepeated(t *testing.T) {
	w := newWorld(t)
	r := w.killedAfter("wrote b")
	if err := w.blobs.Delete(t.Context(), w.desk.store().place(w.namespace, r.ID, "after-c")); err != nil {
		t.Fatal(err)
	}
	w.desk.broken = func(s string) error {
		if s == "restored a" {
			return errKilled
		}
		return nil
	}
	if _, err := w.desk.Repair(t.Context()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	w.start()
	if open, err := w.desk.Repair(t.Context()); open != 0 || err == nil || !strings.Contains(err.Error(), "the states were restored, because one could not be written") || w.all() != beforeAll {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
}

// TestARevertWithoutTheFormerState: its blob is damaged, or gone. A version with that content replaces it;
// without one the refactoring ends all the same, and the other stacks can go on.
func TestARevertWithoutTheFormerState(t *testing.T) {
	for name, versions := range map[string]bool{"with its version": true, "without its version": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.killedAfter("wrote b")
			place := func(part string) string { return w.desk.store().place(w.namespace, r.ID, part) }
			if err := errors.Join(w.blobs.Delete(t.Context(), place("after-c")), w.blobs.PutBytes(t.Context(), place("before-a"), []byte("no archive"))); err != nil {
				t.Fatal(err)
			}
			want := beforeAll
			if !versions {
				want = "a: x.two; b: x.three; c: none"
				w.forget("a", r.Members[0].Before.Digest)
			}
			open, err := w.desk.Repair(t.Context())
			if open != 0 || err == nil || w.all() != want {
				t.Fatalf("%d are open, %v: %s", open, err, w.all())
			}
			if lost := strings.Contains(err.Error(), "its former content is lost"); lost == versions {
				t.Error(err)
			}
		})
	}
}

// TestARevertThatTheAPIRefuses: a Secret that cannot be changed any more keeps its own stack only.
func TestARevertThatTheAPIRefuses(t *testing.T) {
	w := newWorld(t)
	r := w.killedAfter("wrote a")
	if err := w.blobs.Delete(t.Context(), w.desk.store().place(w.namespace, r.ID, "after-c")); err != nil {
		t.Fatal(err)
	}
	w.freeze("a")
	open, err := w.desk.Repair(t.Context())
	if open != 0 || err == nil || !strings.Contains(err.Error(), "its former one cannot be written") || !strings.Contains(err.Error(), "yuba state history "+w.namespace+"/a") {
		t.Errorf("%d are open, %v: %s", open, err, w.all())
	}
}

// forget deletes the versions of a state that have a digest.
func (w *world) forget(stack, digest string) {
	w.t.Helper()
	for v, err := range w.states.Versions(w.t.Context(), w.key(stack)) {
		if err != nil {
			w.t.Fatal(err)
		}
		if v.Digest != digest {
			continue
		}
		found := false
		for info, err := range w.blobs.List(w.t.Context(), "") {
			if err != nil {
				w.t.Fatal(err)
			}
			if strings.HasSuffix(info.Key, v.ID) {
				found = true
				if err := w.blobs.Delete(w.t.Context(), info.Key); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		if !found {
			w.t.Fatalf("version %s is not found", v.ID)
		}
	}
}

// failing is a store of states that is away for one method.
type failing struct {
	*state.Store
	away bool
}

var errAway = errors.New("the API is away")

func (f *failing) Unlock(ctx context.Context, key state.Key, id string) error {
	if f.away {
		return errAway
	}
	return f.Store.Unlock(ctx, key, id)
}

// TestALockThatCannotBeReleased: the API is away while a refused refactoring gives its locks back. The
// server does so later, without a restart.
func TestALockThatCannotBeReleased(t *testing.T) {
	w := newWorld(t)
	states := &failing{w.states, true}
	w.desk.States = states
	r := w.propose()
	if err := w.states.Lock(t.Context(), w.key("b"), state.LockInfo{ID: "other", Who: "bob"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); !errors.Is(err, errAway) {
		t.Fatal(err)
	}
	if !w.desk.left.Load() {
		t.Error("the server does not know that it left a refactoring open")
	}
	states.away = false
	if open, err := w.desk.Repair(t.Context()); open != 0 || err != nil {
		t.Errorf("%d are open, %v", open, err)
	}
	if holder, err := w.states.HolderNow(t.Context(), w.key("a")); err != nil || holder != nil {
		t.Errorf("the lock of a stayed: %+v, %v", holder, err)
	}
}

func TestPausesBetweenRepairs(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: 0, 1: 5 * time.Second, 2: 10 * time.Second, 5: 80 * time.Second, 6: 2 * time.Minute, 1000: 2 * time.Minute} {
		if got := repairPause(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}

// freeze makes the Secret of a state immutable, as somebody may.
func (w *world) freeze(stack string) {
	w.t.Helper()
	c := apitest.Client(w.t)
	var s corev1.Secret
	if err := c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: w.key(stack).SecretName()}, &s); err != nil {
		w.t.Fatal(err)
	}
	s.Immutable = new(true)
	if err := c.Update(w.t.Context(), &s); err != nil {
		w.t.Fatal(err)
	}
}
