// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// cutOff is an API that goes away when a Secret is written.
func cutOff(t *testing.T) client.Client {
	return interceptor.NewClient(apitest.Client(t), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if _, is := obj.(*corev1.Secret); is {
				return fmt.Errorf("create a Secret: %w", errFault)
			}
			return c.Create(ctx, obj, o...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			if _, is := obj.(*corev1.Secret); is {
				return fmt.Errorf("update a Secret: %w", errFault)
			}
			return c.Update(ctx, obj, o...)
		},
	})
}

// halfStored stores a state of a run as a server does that dies before it writes the Secret.
func (h *home) halfStored(id, data string, previous state.Mark) {
	h.t.Helper()
	_, err := state.New(cutOff(h.t), h.blobs).Write(h.t.Context(), h.key(), state.WriteRequest{Data: []byte(data), RunID: id, Previous: previous})
	if !errors.Is(err, errFault) {
		h.t.Fatal(err)
	}
}

// wantStored checks that the Secret has this state.
func (h *home) wantStored(data string) {
	h.t.Helper()
	h.secret(func(*corev1.Secret) {}) // it exists
	if now, err := h.states.Read(h.t.Context(), h.key()); err != nil || string(now.Data) != data {
		h.t.Errorf("%+v: %v", now, err)
	}
}

// The server dies after it stored a version, and the runner cannot ship the state again: its spool
// is damaged.
func TestAnInterruptedWriteIsFinishedAtTheEndOfTheRun(t *testing.T) {
	first, second := stateWith(1, "x"), stateWith(2, "x", "y")
	ended := run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true}
	cutoff := run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true}
	for sentence, end := range map[string]func(h *home, last string){
		"the runner names its last state": func(h *home, last string) {
			h.resume("r1")
			ended.StateDigest = statefile.Digest([]byte(last))
			h.finish("r1", ended)
			if result := h.stored("r1").Result; result.Outcome != run.OutcomeSucceeded {
				h.t.Errorf("%+v", result)
			}
		},
		"the runner knows nothing": func(h *home, _ string) {
			h.resume("r1")
			h.finish("r1", cutoff)
		},
		"the runner is gone": func(h *home, _ string) {
			h.resume("r1")
			h.gone()
		},
		"the API was away at the first attempt": func(h *home, last string) {
			h.resume("r1")
			h.faults.set("finish write", true)
			h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", cutoff))
			if h.holder() != "r1" {
				h.t.Error("the lock is gone before the run is over")
			}
			h.faults.set("finish write", false)
			h.finish("r1", cutoff)
		},
		"the record is damaged": func(h *home, _ string) {
			h.start()
			h.spoil("r1", run.BlobRecord)
			if _, err := h.exec.Salvage(h.t.Context(), knownOf(h.record("r1"))); err != nil {
				h.t.Fatal(err)
			}
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.applying(h.record("r1"))
			h.halfStored("r1", first, state.Mark{})
			end(h, first)
			h.wantStored(first)
		})
		t.Run(sentence+", after an earlier state", func(t *testing.T) {
			h := newHome(t)
			h.applying(h.record("r1"))
			h.ship(http.StatusNoContent, "r1", 1, first)
			h.halfStored("r1", second, state.Mark{Serial: 1, Lineage: "line", Digest: statefile.Digest([]byte(first))})
			end(h, second)
			h.wantStored(second)
		})
	}
}

// The server stays, but the API fails, and the next runner has lost the state.
func TestAWriteThatTheAPIInterruptedIsFinishedAtTheEndOfTheRun(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.faults.set("write secret", true)
	h.ship(http.StatusServiceUnavailable, "r1", 1, stateWith(1, "x"))
	h.faults.set("write secret", false)
	h.finish("r1", run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true})
	h.wantStored(stateWith(1, "x"))
}

// Somebody else's state is not replaced.
func TestAnInterruptedWriteThatWasOvertakenIsNotFinished(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.halfStored("r1", stateWith(1, "x"), state.Mark{})
	theirs := stateWith(7, "theirs")
	if _, err := h.states.Push(t.Context(), h.key(), state.PushRequest{Data: []byte(theirs), Force: true, By: state.By{Holder: state.LockInfo{ID: "r1"}}}); err != nil {
		t.Fatal(err)
	}
	now, err := h.states.Read(t.Context(), h.key())
	if err != nil {
		t.Fatal(err)
	}
	h.resume("r1")
	h.finish("r1", run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true})
	h.wantStored(string(now.Data))
}
