// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestMain(m *testing.M) {
	apitest.Main(m)
}

const credential = "runner-credential"

// errFault is what stores say that a test has made fail.
var errFault = errors.New("out of order")

// faults makes named operations fail until told otherwise.
type faults struct {
	mu      sync.Mutex
	failing map[string]bool
	held    map[string]chan struct{}
	// waiting counts who waits, or has waited, for a held operation.
	waiting map[string]int
}

// hold makes an operation wait.
func (f *faults) hold(operation string, until chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.waiting = map[string]chan struct{}{operation: until}, map[string]int{}
}

// await returns when so many have come to a held operation.
func (f *faults) await(t *testing.T, operation string, count int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		f.mu.Lock()
		there := f.waiting[operation]
		f.mu.Unlock()
		if there >= count {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d came to %q, want %d", there, operation, count)
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *faults) set(operation string, failing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil {
		f.failing = map[string]bool{}
	}
	f.failing[operation] = failing
}

func (f *faults) of(operation string) error {
	f.mu.Lock()
	held := f.held[operation]
	if held != nil {
		f.waiting[operation]++
	}
	f.mu.Unlock()
	if held != nil {
		<-held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing[operation] {
		return fmt.Errorf("%s: %w", operation, errFault)
	}
	return nil
}

// faultyBlobs is a real store whose writes of some parts fail on demand: "put record.json".
type faultyBlobs struct {
	*blob.Store
	faults *faults
}

func (b faultyBlobs) PutBytes(ctx context.Context, key string, data []byte) error {
	if err := b.faults.of("put " + filepath.Base(key)); err != nil {
		return err
	}
	return b.Store.PutBytes(ctx, key, data)
}

func (b faultyBlobs) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := b.Store.Get(ctx, key, limit)
	if err := b.faults.of("get " + filepath.Base(key)); err != nil {
		return nil, err
	}
	return data, err
}

func (b faultyBlobs) Put(ctx context.Context, key string, r io.Reader) error {
	if err := b.faults.of("put " + filepath.Base(key)); err != nil {
		return err
	}
	return b.Store.Put(ctx, key, r)
}

// faultyStates is a real store that fails on demand: "unlock", "read", "forbid read" as the API
// does who may not read, "answer write" once the write is done, "write secret" once the version is
// stored, and "finish write".
type faultyStates struct {
	*state.Store
	faults *faults
	// cut is the same store with an API that goes away when it writes a Secret.
	cut *state.Store
}

func (s faultyStates) FinishWrite(ctx context.Context, key state.Key, w state.WriteRequest) (state.Version, bool, error) {
	if err := s.faults.of("finish write"); err != nil {
		return state.Version{}, false, err
	}
	return s.Store.FinishWrite(ctx, key, w)
}

func (s faultyStates) Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error) {
	if err := s.faults.of("read"); err != nil {
		return nil, err
	}
	if err := s.faults.of("forbid read"); err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, apierrors.NewForbidden(corev1.Resource("secrets"), key.SecretName(), err))
	}
	return s.Store.Read(ctx, key, options...)
}

func (s faultyStates) Unlock(ctx context.Context, key state.Key, id string) error {
	if err := s.faults.of("unlock"); err != nil {
		return err
	}
	return s.Store.Unlock(ctx, key, id)
}

func (s faultyStates) Write(ctx context.Context, key state.Key, w state.WriteRequest) (state.Version, error) {
	if s.faults.of("write secret") != nil {
		return s.cut.Write(ctx, key, w)
	}
	v, err := s.Store.Write(ctx, key, w)
	if err := s.faults.of("answer write"); err != nil {
		return v, err
	}
	return v, err
}

// home is the server's side: stores that stay, and an executor that may start anew on them.
type home struct {
	t      *testing.T
	faults *faults
	// dir is the directory of blobs, live that of live logs.
	dir, live string
	blobs     *blob.Store
	states    *state.Store
	stack     run.Stack
	// shells is where people's processes hold their locks, patience how long one may take to come.
	shells   string
	patience time.Duration
	// readPatience is how long the end of an apply waits for evidence.
	readPatience time.Duration
	// limit is how many runs of a namespace may be with runners.
	limit int
	// backend is what the executor knows of runners beside their polls, lease how long it waits to
	// hear of one.
	backend *fakeBackend
	lease   time.Duration
	// ended gets what the listener was told.
	ended chan run.Stack
	// observed gets the records of runs that ended; nil for nobody.
	observed func(run.Record)
	// permit answers for the stack controller.
	permit func(run.Record) (executor.Permission, error)
	// review answers for those who are asked about plans; nobody is without it.
	review func(context.Context) (executor.Permission, error)
	// inspect answers about configurations after init; nil for nobody.
	inspect func(context.Context, run.Record, *run.Installed) (executor.Permission, error)
	// registry serves downloads; there is none without it.
	registry executor.Registry

	exec *executor.Executor
	http *httptest.Server
	// active are the runs that a runner has begun.
	active []string
}

func newHome(t *testing.T) *home {
	t.Helper()
	key, err := blob.LoadOrCreateKey(filepath.Join(t.TempDir(), "blob.agekey"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), "file://"+dir, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	h := &home{t: t, dir: dir, faults: &faults{}, blobs: blobs, states: state.New(apitest.Client(t), blobs), live: t.TempDir(), shells: t.TempDir(),
		stack: run.Stack{Namespace: apitest.Namespace(t), Name: "vpc", UID: "uid-1"}, ended: make(chan run.Stack, 100),
		permit:  func(run.Record) (executor.Permission, error) { return executor.Permission{Go: true}, nil },
		backend: &fakeBackend{end: make(chan string), missed: make(chan string)}}
	h.start()
	return h
}

// start begins a server's life; a life before ends as in a crash: nothing is told to anybody.
func (h *home) start() {
	h.t.Helper()
	if h.http != nil {
		h.http.CloseClientConnections()
		h.http.Close()
	}
	var err error
	var review func(context.Context, run.Record, *run.PlanResult) (executor.Permission, error)
	if h.review != nil {
		review = func(ctx context.Context, _ run.Record, _ *run.PlanResult) (executor.Permission, error) {
			return h.review(ctx)
		}
	}
	h.exec, err = executor.New(executor.Options{
		Blobs: faultyBlobs{h.blobs, h.faults}, States: faultyStates{h.states, h.faults, state.New(cutOff(h.t), h.blobs)}, LiveDir: h.live, ShellDir: h.shells, ShellPatience: h.patience, ReadPatience: h.readPatience,
		Permit: func(_ context.Context, rec run.Record, _ *run.PlanResult) (executor.Permission, error) {
			return h.permit(rec)
		},
		Review:         review,
		Inspect:        h.inspect,
		NamespaceLimit: func(string) int { return h.limit },
		Backend:        h.backend, Lease: h.lease, Registry: h.registry,
		Ended: func(s run.Stack) { h.ended <- s }, Observe: h.observed,
		Credential: credential, Holder: "yuba@test", Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	exec, server := h.exec, httptest.NewServer(h.exec.Handler())
	h.http = server
	h.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		exec.Flush(context.Background())
	})
}

// record describes a run of the stack.
func (h *home) record(id string) run.Record {
	limits := run.DefaultLimits()
	limits.LogBytes, limits.StateBytes, limits.PlanBytes = 1000, 1000, 1000
	return run.Record{Token: "token-" + id, Created: time.Now().UTC(), Announced: true, Config: "sha256:c",
		Spec: run.Spec{Protocol: run.ProtocolVersion, ID: id, Stack: h.stack, Operation: run.OperationPlanAndApply,
			Backend: run.Backend{Kind: run.BackendManaged}, Limits: limits,
			Variables: map[string]run.Variable{"password": {Value: json.RawMessage(`"s3cret"`), Secret: true}}},
		State: run.StateRef{Namespace: h.stack.Namespace, Workspace: "default", Suffix: "vpc", Stack: "vpc"}}
}

// begin prepares and starts a run.
func (h *home) begin(rec run.Record) {
	h.t.Helper()
	if err := h.exec.Prepare(h.t.Context(), rec); err != nil {
		h.t.Fatal(err)
	}
	if err := h.exec.Start(h.t.Context(), rec); err != nil {
		h.t.Fatal(err)
	}
}

// started begins a run and lets a runner take and fetch it.
func (h *home) started(rec run.Record) {
	h.t.Helper()
	h.begin(rec)
	h.assigned(rec.Spec.ID)
	h.mustDo(http.StatusOK, h.of(rec.Spec.ID, "GET", ""))
	h.active = append(h.active, rec.Spec.ID)
}

// assigned polls and demands that exactly this run is handed out.
func (h *home) assigned(id string) {
	h.t.Helper()
	if got := h.poll("one", 4, h.active...); len(got.Runs) != 1 || got.Runs[0].ID != id || got.Runs[0].Token != "token-"+id {
		h.t.Fatalf("handed out %+v, want %s", got.Runs, id)
	}
}

func (h *home) stored(id string) run.Record {
	h.t.Helper()
	rec, err := h.exec.Record(h.t.Context(), h.stack, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return rec
}

// holder is the id that holds the state's lock.
func (h *home) holder() string {
	h.t.Helper()
	info, err := h.states.Holder(h.t.Context(), h.key())
	if err != nil {
		h.t.Fatal(err)
	}
	if info == nil {
		return ""
	}
	return info.ID
}

func (h *home) key() state.Key {
	return state.Key{Namespace: h.stack.Namespace, Workspace: "default", Suffix: "vpc", Stack: "vpc"}
}

// endedOnce demands that the listener was told of one end since it was last asked.
func (h *home) endedOnce() {
	h.t.Helper()
	if n := len(h.ended); n != 1 {
		h.t.Fatalf("the listener was told %d times, want once", n)
	}
	if got := <-h.ended; got != h.stack {
		h.t.Fatalf("told of %v", got)
	}
}

// request is what a runner sends.
type request struct {
	method, path, token string
	header              map[string]string
	body                any // bytes, or a value sent as JSON
}

// of is a request about a run, with its token.
func (h *home) of(id, method, part string, body ...any) request {
	r := request{method: method, path: "/runs/" + id + part, token: "token-" + id}
	if len(body) > 0 {
		r.body = body[0]
	}
	return r
}

func (r request) with(header, value string) request {
	r.header = map[string]string{header: value}
	return r
}

// do sends a request and returns the answer.
func (h *home) do(r request) (status int, body string) {
	h.t.Helper()
	data, raw := r.body.([]byte)
	if !raw && r.body != nil {
		var err error
		if data, err = json.Marshal(r.body); err != nil {
			h.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(h.t.Context(), r.method, h.http.URL+run.PathPrefix+r.path, bytes.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set(run.HeaderProtocol, fmt.Sprint(run.ProtocolVersion))
	req.Header.Set("Authorization", "Bearer "+r.token)
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	resp, err := h.http.Client().Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func (h *home) mustDo(want int, r request) string {
	h.t.Helper()
	status, body := h.do(r)
	if status != want {
		h.t.Fatalf("%s %s: answered %d %s, want %d", r.method, r.path, status, body, want)
	}
	return strings.TrimSpace(body)
}

// poll asks for work; the answer must come at once.
func (h *home) poll(runner string, capacity int, active ...string) run.PollResponse {
	h.t.Helper()
	return h.pollWith(run.PollRequest{Runner: runner, Version: "test", Capacity: capacity, Active: active})
}

func (h *home) pollWith(r run.PollRequest) run.PollResponse {
	h.t.Helper()
	return decoded[run.PollResponse](h, h.mustDo(http.StatusOK, request{method: "POST", path: "/poll", token: credential, body: r}))
}

// ghost is a run that no server knows: a poll that names it is answered at once.
const ghost = "ghost"

// nothingFor demands that a runner gets no run now.
func (h *home) nothingFor(runner string, active ...string) {
	h.t.Helper()
	if got := h.poll(runner, 4, append(active, ghost)...); len(got.Runs) != 0 {
		h.t.Fatalf("handed out %+v, want nothing", got.Runs)
	}
}

// goOn asks whether the apply may begin.
func (h *home) goOn(id string) run.ContinueResponse {
	h.t.Helper()
	return decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of(id, "POST", "/continue", run.ContinueRequest{Step: run.StepApply})))
}

// finish posts a result.
func (h *home) finish(id string, result run.Result) {
	h.t.Helper()
	h.mustDo(http.StatusNoContent, h.of(id, "POST", "/result", result))
}

// ship posts a state.
func (h *home) ship(want int, id string, sequence int, data string) {
	h.t.Helper()
	h.mustDo(want, h.of(id, "PUT", "/state", []byte(data)).with(run.HeaderSequence, fmt.Sprint(sequence)))
}

func decoded[T any](h *home, body string) T {
	h.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		h.t.Fatalf("read the answer %q: %v", body, err)
	}
	return v
}

// stateOf is a small state.
func stateOf(serial int) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l-1","outputs":{},"resources":[]}`, serial)
}

func succeeded() run.Result {
	return run.Result{Outcome: run.OutcomeSucceeded, Finished: time.Now().UTC()}
}
