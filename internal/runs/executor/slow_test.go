// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// unhindered fails the test when something takes longer than it may.
func unhindered(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s waits for a slow store", what)
	}
}

// Eight stacks upload a state to a store that does not answer. Whoever looks at the stacks must not
// wait for it: workers of the stack controller are as few.
func TestNobodyWaitsForTheUploadsOfOthers(t *testing.T) {
	h := newHome(t)
	const stacks = 8
	first := h.stack
	var uploads sync.WaitGroup
	release := make(chan struct{})
	for i := range stacks {
		h.stack = run.Stack{Namespace: first.Namespace, Name: first.Name + string(rune('a'+i)), UID: "uid"}
		rec := h.record("r" + string(rune('a'+i)))
		rec.State.Suffix = h.stack.Name
		h.started(rec)
		if i == 0 {
			h.faults.hold("answer write", release)
		}
		uploads.Go(func() {
			status, body := h.do(h.of(rec.Spec.ID, "PUT", "/state", []byte(stateOf(1))).with(run.HeaderSequence, "1"))
			if status != http.StatusNoContent {
				t.Errorf("upload: %d %s", status, body)
			}
		})
		h.faults.await(t, "answer write", i+1)
	}
	unhindered(t, 20*time.Second, "a look at the runs", func() {
		for i := range stacks {
			stack := run.Stack{Namespace: first.Namespace, Name: first.Name + string(rune('a'+i)), UID: "uid"}
			rec, _, ok := h.exec.InHand(stack)
			if !ok || rec.Started == nil {
				t.Errorf("%s: %v %+v", stack, ok, rec)
			}
			if _, err := h.exec.Resume(context.Background(), stack, rec.Spec.ID); err != nil {
				t.Error(err)
			}
			if err := h.exec.Cancel(context.Background(), rec.Spec.ID); err != nil {
				t.Error(err)
			}
		}
		h.exec.Queue()
		h.exec.AtWork()
		h.exec.Artifacts()
		h.poll("one", 4, h.active...)
	})
	close(release)
	uploads.Wait()
}

// lateBody is sent when it is released. The server has asked for it by then, and so has found the
// run.
type lateBody struct {
	asked, release chan struct{}
	once           sync.Once
	io.Reader
}

func newLateBody(text string) *lateBody {
	return &lateBody{asked: make(chan struct{}), release: make(chan struct{}), Reader: strings.NewReader(text)}
}

func (b *lateBody) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.asked) })
	<-b.release
	return b.Reader.Read(p)
}

// send sends a request about a run with such a body and returns the status of the answer.
func (h *home) send(id, method, part string, body *lateBody, header map[string]string) (int, error) {
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.http.URL+run.PathPrefix+"/runs/"+id+part, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Expect", "100-continue")
	req.Header.Set(run.HeaderProtocol, strconv.Itoa(run.ProtocolVersion))
	req.Header.Set("Authorization", "Bearer token-"+id)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// A question that was on its way when its run ended must not take the state's lock: nobody would
// give it back. A state that comes so late is not stored.
func TestWhatComesAfterTheEndOfARun(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	question, state := newLateBody(`{"step":"apply","state":"none"}`), newLateBody(stateOf(7))
	var late sync.WaitGroup
	for part, body := range map[string]*lateBody{"POST /continue": question, "PUT /state": state} {
		method, part, _ := strings.Cut(part, " ")
		late.Go(func() {
			status, err := h.send("r1", method, part, body, map[string]string{run.HeaderSequence: "1"})
			if err != nil || status != http.StatusGone {
				t.Errorf("%s %s: %d %v", method, part, status, err)
			}
		})
		<-body.asked
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeCanceled})
	close(question.release)
	close(state.release)
	late.Wait()
	if holder := h.holder(); holder != "" {
		t.Errorf("the lock is held by %s, which is over", holder)
	}
	if now, err := h.states.Read(t.Context(), h.key()); err != nil || now.Data != nil {
		t.Errorf("a state was stored: %v %s", err, now.Data)
	}
}

// The time of the last pass is read from a slow store while another pass ends: the later one
// counts.
func TestLastQuietIsTheNewest(t *testing.T) {
	h := newHome(t)
	quiet := func(id string) run.Record {
		rec := h.record(id)
		rec.Quiet, rec.Announced = true, false
		return rec
	}
	pass := func(id string, at time.Time) {
		h.started(quiet(id))
		h.finish(id, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}, Finished: at})
		h.exec.Recorded(h.stack, id)
		h.active = nil
	}
	older, newer := time.Now().UTC().Add(-time.Hour).Truncate(time.Second), time.Now().UTC().Truncate(time.Second)
	pass("r1", older)
	h.exec.Flush(t.Context())
	h.start()
	release := make(chan struct{})
	h.faults.hold("get record.json", release)
	var read sync.WaitGroup
	read.Go(func() {
		if at, err := h.exec.LastQuiet(context.Background(), h.stack); err != nil || !at.Equal(newer) {
			t.Errorf("while it ended: %v %v", at, err)
		}
	})
	h.faults.await(t, "get record.json", 1)
	pass("r2", newer)
	close(release)
	read.Wait()
	if at, err := h.exec.LastQuiet(t.Context(), h.stack); err != nil || !at.Equal(newer) {
		t.Errorf("afterwards: %v %v, want %v", at, err, newer)
	}
}
