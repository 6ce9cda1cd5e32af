// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// stateServer keeps one state for the "http" backend, with a password and a lock.
type stateServer struct {
	*httptest.Server
	mu       sync.Mutex
	state    []byte
	lock     []byte
	requests []string
	// refused, if set, is called with the number of refused LOCK requests.
	refused func(n int)
	n       int
}

const statePassword = "p4ssw0rd-of-the-state"

func newStateServer(t *testing.T) *stateServer {
	s := &stateServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a closed connection gets no response
	if user, password, _ := r.BasicAuth(); user != "yuba" || password != statePassword {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method)
	switch r.Method {
	case http.MethodGet:
		if s.state == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(s.state)
	case http.MethodPost:
		s.state = body
	case "LOCK":
		if s.lock != nil {
			w.WriteHeader(http.StatusLocked)
			w.Write(s.lock)
			if s.n++; s.refused != nil {
				s.refused(s.n)
			}
			return
		}
		s.lock = body
	case "UNLOCK":
		s.lock = nil
	}
}

const otherLock = `{"ID":"498a5e6e-1d2b-36d5-c058-ce338a55e055","Operation":"OperationTypeApply","Info":"","Who":"ci@build7","Version":"1.12.6","Created":"2026-11-21T21:28:21.5Z","Path":""}`

// on makes a run keep its state there.
func (s *stateServer) on(r *fakeRun) *fakeRun {
	r.spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"http\" {}\n}\n", Settings: map[string]string{
		"address": s.URL, "lock_address": s.URL, "unlock_address": s.URL, "username": "yuba", "password": statePassword, "retry_max": "0",
	}}
	r.spec.Secrets = []string{statePassword}
	return r
}

func TestSettingsCompleteTheBackendAndAreNotLeftBehind(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	first := server.on(b.stack("settings", run.OperationPlanAndApply, program(twoThings)))
	result := b.succeed(first)
	if !strings.Contains(string(server.state), "terraform_data") || server.lock != nil || len(first.states) > 0 || result.AppliedCounts.Add != 2 {
		t.Errorf("%+v\n%s", result, server.state)
	}
	if found := b.findBelow(statePassword); len(found) > 0 {
		t.Errorf("the password is left in %v", found)
	}
	if text := string(first.log) + string(execution.Encode(result)); strings.Contains(text, statePassword) {
		t.Errorf("the password is shown:\n%s", text)
	}
	second := b.succeed(first.again(run.OperationPlan))
	if diff := cmp.Diff([]run.Step{run.StepInit, run.StepPlan}, processes(second)); diff != "" || second.Plan.Changes {
		t.Errorf("the second run: %+v %s", second.Plan, diff)
	}
	wrong := first.again(run.OperationPlan)
	wrong.spec.Backend.Settings = map[string]string{"address": server.URL, "username": "yuba", "password": "wrong-p4ssw0rd"}
	wrong.spec.Secrets = []string{"wrong-p4ssw0rd"}
	if result := b.do(wrong); result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepInit && result.FailedStep != run.StepPlan {
		t.Errorf("%+v", result)
	}
}

func TestSettingsOfAnyTextAreTakenAsTheyAre(t *testing.T) {
	b := newBench(t).start()
	const dir = "states ${x} %{if} \"quoted\" \\ ü"
	r := b.stack("quoted", run.OperationPlanAndApply, program(twoThings))
	r.spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"local\" {}\n}\n", Settings: map[string]string{"path": dir + "/x.tfstate"}}
	b.succeed(r)
	if _, err := os.Stat(filepath.Join(b.opts.WorkRoot, "team", "quoted", "src", dir, "x.tfstate")); err != nil {
		t.Error(err)
	}
}

func TestLockOfAnOwnBackend(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	first := server.on(b.stack("locked", run.OperationPlanAndApply, program(twoThings)))
	b.succeed(first)
	wantLock := &run.Lock{ID: "498a5e6e-1d2b-36d5-c058-ce338a55e055", Who: "ci@build7", Operation: "OperationTypeApply",
		Created: time.Date(2026, 11, 21, 21, 28, 21, 500_000_000, time.UTC)}
	hold := func() {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.lock = []byte(otherLock)
	}
	hold()
	locked := b.do(first.again(run.OperationPlan))
	if diff := cmp.Diff(wantLock, locked.Lock); diff != "" || locked.Class != run.FailureLocked {
		t.Errorf("%+v\n%s", locked, diff)
	}
	without := first.again(run.OperationPlan)
	without.spec.NoPlanLock = true
	b.succeed(without)

	waiting := first.again(run.OperationPlan)
	waiting.spec.LockTimeout = run.Duration(time.Minute)
	server.refused = func(int) { server.lock = nil } // free after the first refusal
	b.succeed(waiting)
	server.refused = nil

	hold()
	broken := first.again(run.OperationPlan)
	broken.spec.ForceUnlock = wantLock.ID
	b.succeed(broken)
	if !strings.Contains(string(broken.log), "Broke the lock "+wantLock.ID) {
		t.Errorf("log:\n%s", broken.log)
	}
	// A lock that is already gone must not be an error.
	gone := first.again(run.OperationPlan)
	gone.spec.ForceUnlock = wantLock.ID
	b.succeed(gone)
}

func TestLockOfAnApplyOnAnOwnBackend(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	planned := server.on(b.stack("apply-locked", run.OperationPlan, program(twoThings)))
	plan := b.succeed(planned)
	server.mu.Lock()
	server.lock = []byte(otherLock)
	server.mu.Unlock()
	apply := planned.again(run.OperationApply)
	apply.plan, apply.spec.Plan = planned.savedPlan, &run.PlanRef{ID: "plan-1", RunID: planned.spec.ID, Digest: plan.Plan.Digest}
	result := b.do(apply)
	if result.Class != run.FailureLocked || result.FailedStep != run.StepApply || result.Lock == nil || result.Lock.Who != "ci@build7" {
		t.Errorf("%+v", result)
	}
}

// TestLockOfTheLocalBackend locks the state file as another tofu does.
func TestLockOfTheLocalBackend(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("local-lock", run.OperationPlanAndApply, program(twoThings))
	first.spec.Backend.Kind = run.BackendOwn
	b.succeed(first)
	dir := filepath.Join(b.opts.WorkRoot, "team", "local-lock", "src")
	state, err := os.OpenFile(filepath.Join(dir, workspace.StateName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	if err := unix.FcntlFlock(state.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".terraform.tfstate.lock.info"), []byte(otherLock), 0o600); err != nil {
		t.Fatal(err)
	}
	result := b.do(first.again(run.OperationPlan))
	if result.Class != run.FailureLocked || result.Lock == nil || result.Lock.ID != "498a5e6e-1d2b-36d5-c058-ce338a55e055" {
		t.Errorf("%+v", result)
	}
}

// A local backend keeps the only copy of its state in the working directory.
func TestADamagedRecordCostsNoLocalState(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("local-damaged", run.OperationPlanAndApply, program(twoThings))
	first.spec.Backend.Kind = run.BackendOwn
	b.succeed(first)
	for what, text := range map[string]string{"half of it": `{"uid":"u`, "nothing": ""} {
		b.put(filepath.Join(b.opts.WorkRoot, "team", "local-damaged", workspace.RecordName), []byte(text))
		if result := b.succeed(first.again(run.OperationPlan)); result.Plan.Changes {
			t.Errorf("with %s of its record the stack is planned from nothing: %+v", what, result.Plan)
		}
	}
}

func TestWorkspaceThatCannotBeSelected(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	r := server.on(b.stack("unselectable", run.OperationPlan, program(twoThings)))
	r.spec.Workspace = "prod"
	result := b.do(r)
	if result.Class != run.FailureWorkspace || result.FailedStep != run.StepInit || !strings.Contains(result.Error, "select the workspace prod") {
		t.Errorf("%+v", result)
	}
}

func TestWorkspacesOfAnOwnBackend(t *testing.T) {
	b := newBench(t).start()
	const text = `output "w" { value = terraform.workspace }`
	r := b.stack("own-spaces", run.OperationPlanAndApply, program(text))
	r.spec.Backend.Kind, r.spec.ReadOutputs = run.BackendOwn, true
	for _, workspace := range []string{"prod", "default", "prod"} {
		next := r.again(run.OperationPlanAndApply)
		next.spec.Workspace, next.spec.ReadOutputs = workspace, true
		b.succeed(next)
	}
	for workspace, file := range map[string]string{"default": workspace.StateName, "prod": workspace.StatesName + "/prod/" + workspace.StateName} {
		state, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "own-spaces", "src", file))
		if err != nil || !strings.Contains(string(state), `"`+workspace+`"`) {
			t.Errorf("%s: %v\n%s", workspace, err, state)
		}
	}
}

// TestWorkspaceThatSomebodySelectedIsNotUsed has a working directory as a user's shell may leave
// it.
func TestWorkspaceThatSomebodySelectedIsNotUsed(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("selected", run.OperationPlanAndApply, program(`output "w" { value = terraform.workspace }`))
	r.spec.Backend.Kind = run.BackendOwn
	b.succeed(r)
	dir := filepath.Join(b.opts.WorkRoot, "team", "selected", "src")
	if err := os.MkdirAll(filepath.Join(dir, workspace.StatesName, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, workspace.DataDirTF, "environment"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if result := b.succeed(r.again(run.OperationPlan)); result.Plan.Changes {
		t.Errorf("the plan is of another workspace: %+v", result.Plan)
	}
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.succeed(r.again(run.OperationPlan)))); diff != "" {
		t.Errorf("the run after it: %s", diff)
	}
	// With several workspaces init would ask whether to move them, unless it knows where they are.
	changed := b.stack("selected", run.OperationPlan, program("# changed\n"+`output "w" { value = terraform.workspace }`))
	changed.spec.Backend.Kind = run.BackendOwn
	if result := b.succeed(changed); result.Plan.Changes {
		t.Errorf("after a commit: %+v", result.Plan)
	}
	if err := os.Remove(filepath.Join(dir, "../"+workspace.InitListName)); err != nil { // as after an upgrade
		t.Fatal(err)
	}
	if result := b.succeed(changed.again(run.OperationPlan)); result.Plan.Changes {
		t.Errorf("without a list of files of init: %+v", result.Plan)
	}
}

// TestCloudIsReachedWithItsToken lets init reach a host that serves only a discovery document.
func TestCloudIsReachedWithItsToken(t *testing.T) {
	var mu sync.Mutex
	authorized := map[string]string{}
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		authorized[r.URL.Path] = r.Header.Get("Authorization")
		mu.Unlock()
		if r.URL.Path == "/.well-known/terraform.json" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"tfe.v2":"/api/v2/","tfe.v2.1":"/api/v2/","tfe.v2.2":"/api/v2/","state.v2":"/api/v2/"}`)
			return
		}
		http.NotFound(w, r)
	}))
	defer host.Close()
	const token = "t0ken-of-the-cloud"
	name := strings.TrimPrefix(host.URL, "https://")
	b := newBench(t).start()
	r := b.stack("cloud", run.OperationPlan, program(twoThings))
	r.spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  cloud {\n    organization = \"acme\"\n    hostname     = \"" + name + "\"\n    workspaces {\n      name = \"prod\"\n    }\n  }\n}\n"}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})
	r.spec.Files = []run.File{{Location: run.FileInHome, Path: "ca.pem", Content: ca}}
	r.spec.Env = []run.EnvVar{
		{Name: "SSL_CERT_FILE", Value: filepath.Join(b.opts.WorkRoot, "team", "cloud", workspace.HomeDir, "ca.pem")},
		{Name: "TF_TOKEN_" + strings.ReplaceAll(name, ".", "_"), Value: token, Secret: true},
	}
	result := b.do(r)
	if result.FailedStep != run.StepInit || strings.Contains(string(r.log)+result.Error, token) {
		t.Fatalf("%+v\n%s", result, r.log)
	}
	mu.Lock()
	defer mu.Unlock()
	found := false
	for path, header := range authorized {
		found = found || strings.HasPrefix(path, "/api/v2/organizations/acme") && header == "Bearer "+token
	}
	if !found {
		t.Errorf("the host was asked for %v; the run failed with %s", authorized, result.Error)
	}
}
