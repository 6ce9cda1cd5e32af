// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/tofu/state/migration"
)

var managedBackend = run.Backend{Kind: run.BackendManaged, Override: "terraform {\n  backend \"local\" {}\n}\n"}

// backend is the configuration of a state server.
func (s *stateServer) backend() run.Backend {
	return run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"http\" {}\n}\n", Settings: map[string]string{
		"address": s.URL, "lock_address": s.URL, "unlock_address": s.URL, "username": "yuba", "password": statePassword, "retry_max": "0",
	}}
}

// content is the state there, taken in peace.
func (s *stateServer) content() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// migrating is a run after another one that copies the state between two backends.
func migrating(after *fakeRun, own, other run.Backend, into bool) *fakeRun {
	r := after.again(run.OperationState)
	r.spec.Backend, r.spec.Secrets = own, []string{statePassword}
	r.spec.StateChange = &run.StateChange{Verb: run.StateMigrate, Migration: &run.Migration{Other: other, Into: into, From: "the source", To: "the destination"}}
	return r
}

// proves fails the test unless the state at the destination is a proven copy.
func proves(t *testing.T, source, destination []byte) {
	t.Helper()
	if proof, err := migration.Prove(source, destination); err != nil || proof.Resources != 2 {
		t.Fatalf("%+v %v\n%s", proof, err, destination)
	}
}

func TestStatesAreMigratedBetweenBackends(t *testing.T) {
	b, one, two := newBench(t).start(), newStateServer(t), newStateServer(t)
	first := b.stack("migrated", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	managed := first.lastState()

	into := migrating(first, managedBackend, one.backend(), true)
	result := b.succeed(into)
	proves(t, managed, one.content())
	if !strings.Contains(result.Text, "2 resources") || len(into.states) > 0 || one.lock != nil {
		t.Errorf("%q, %d states shipped, lock %s", result.Text, len(into.states), one.lock)
	}
	across := migrating(into, one.backend(), two.backend(), true)
	b.succeed(across)
	proves(t, one.content(), two.content())
	back := migrating(across, managedBackend, two.backend(), false)
	b.succeed(back)
	proves(t, two.content(), back.lastState())

	again := first.again(run.OperationPlan)
	again.spec.Backend, again.state = managedBackend, back.lastState()
	if plan := b.succeed(again); plan.Plan.Changes {
		t.Errorf("the stack has changes after its migration: %+v", plan.Plan)
	}
	if found := b.findBelow(statePassword); len(found) > 0 {
		t.Errorf("the password is left in %v", found)
	}
	if text := string(into.log) + string(across.log) + string(execution.Encode(result)); strings.Contains(text, statePassword) {
		t.Errorf("the password is shown:\n%s", text)
	}
}

func TestMigrationsThatWouldLoseAStateAreRefused(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("refused", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	const foreign = `{"version":4,"serial":3,"lineage":"of-another-stack","outputs":{"o":{"value":1,"type":"number"}},"resources":[]}`
	for what, c := range map[string]struct {
		prepare func(s *stateServer, r *fakeRun)
		says    string
	}{
		"another stack's state at the destination": {func(s *stateServer, _ *fakeRun) { s.state = []byte(foreign) }, "another lineage"},
		"a locked destination":                     {func(s *stateServer, _ *fakeRun) { s.lock = []byte(otherLock) }, "locked by ci@build7"},
		"a destination that is not a state":        {func(s *stateServer, _ *fakeRun) { s.state = []byte("<html>") }, "the destination"},
		"nothing to accept": {func(_ *stateServer, r *fakeRun) {
			r.spec.StateChange.Accept = true
		}, "the destination has no state"},
	} {
		t.Run(what, func(t *testing.T) {
			server := newStateServer(t)
			r := migrating(first, managedBackend, server.backend(), true)
			c.prepare(server, r)
			before := string(server.state)
			result := b.do(r)
			if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, c.says) || string(server.content()) != before {
				t.Errorf("%s: %s\n%s", result.Outcome, result.Error, server.content())
			}
		})
	}
}

// TestALeftLockIsBrokenOnRequest also accepts a state that is at the destination already.
func TestALeftLockIsBrokenOnRequest(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	first := b.stack("left-lock", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	server.lock = []byte(otherLock)
	r := migrating(first, managedBackend, server.backend(), true)
	r.spec.StateChange.BreakLock = "498a5e6e-1d2b-36d5-c058-ce338a55e055"
	b.succeed(r)
	proves(t, first.lastState(), server.content())
	accept := migrating(first, managedBackend, server.backend(), true)
	accept.spec.StateChange.Accept = true
	if result := b.succeed(accept); !strings.Contains(result.Text, "continues with the state at the destination") {
		t.Error(result.Text)
	}
}

// TestASourceThatChangesMeanwhileStays lets another tool write the source between the copy and the
// last check.
func TestASourceThatChangesMeanwhileStays(t *testing.T) {
	b, one, two := newBench(t).start(), newStateServer(t), newStateServer(t)
	first := one.on(b.stack("moving", run.OperationPlanAndApply, program(twoThings)))
	b.succeed(first)
	two.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		two.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			one.mu.Lock()
			defer one.mu.Unlock()
			one.state = []byte(strings.Replace(string(one.state), `"serial":`, `"serial":9`, 1))
		}
	})
	result := b.do(migrating(first, one.backend(), two.backend(), true))
	if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, "at the source") || !strings.Contains(result.Error, "newer state") {
		t.Errorf("%s: %s", result.Outcome, result.Error)
	}
}

// TestABrokenMigrationIsRepeated breaks a migration at each request to the
// destination, as a dead connection does, and repeats it.
func TestABrokenMigrationIsRepeated(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("broken", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	for _, n := range []int{1, 4, 6, 9, 12} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			server, count := newStateServer(t), 0
			server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				server.mu.Lock()
				count++
				broken := count == n
				server.mu.Unlock()
				if broken {
					panic(http.ErrAbortHandler)
				}
				server.ServeHTTP(w, r)
			})
			b.do(migrating(first, managedBackend, server.backend(), true))
			repeated := migrating(first, managedBackend, server.backend(), true)
			if server.lock != nil { // that request was the unlock
				var left struct{ ID string }
				if err := json.Unmarshal(server.lock, &left); err != nil {
					t.Fatal(err)
				}
				repeated.spec.StateChange.BreakLock = left.ID
			}
			b.succeed(repeated)
			proves(t, first.lastState(), server.content())
		})
	}
}
