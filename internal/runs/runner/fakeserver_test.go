// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// fakeServer is the server's side of the protocol in memory. Like a real one, it can restart with
// another address and credential.
type fakeServer struct {
	t    testing.TB
	dir  string
	http *httptest.Server

	mu         sync.Mutex
	credential string
	runs       map[string]*fakeRun
	queue      []run.Assignment
	cancel     []string
	stops      map[string]string
	seen       int
	forget     []string
	polls      int
	last       run.PollRequest
	// home is the lease of the runners of the directory.
	home  lease.Home
	drain bool
	// registry serves downloads; there is none without it.
	registry http.Handler
	// older servers wait for the runner to request the spec.
	older bool
	wake  chan struct{}
}

// fakeRun is the server's knowledge of one run.
type fakeRun struct {
	spec     run.Spec
	token    string
	artifact []byte
	plan     []byte
	state    []byte

	states    [][]byte
	sequence  int // of the last state
	log       []byte
	savedPlan []byte
	planJSON  []byte
	planText  []byte
	planShow  []byte
	asked     []run.ContinueRequest
	requests  []string
	answer    run.ContinueResponse
	review    run.ContinueResponse // the answer to a review request
	reviewing bool                 // while true, a review is pending
	refuse    int                  // status for states
	busy      bool                 // while true, it takes no result
	plans     map[string]string    // the plan's digest by the shipped part
	changing  bool                 // once the runner reported it
	result    *run.Result
	owner     lease.Owner   // the runner that it was handed out to; none while it is in the queue
	tokens    int           // of identities, so far
	tokenLife time.Duration // of each
	changed   chan struct{} // closed and replaced with every change
}

func newFakeServer(t testing.TB, dir string) *fakeServer {
	s := &fakeServer{t: t, dir: dir, runs: map[string]*fakeRun{}, stops: map[string]string{}, wake: make(chan struct{})}
	s.start()
	t.Cleanup(s.stop)
	return s
}

// start serves at a new address and records it for the runner.
func (s *fakeServer) start() {
	s.http = httptest.NewTLSServer(s)
	s.mu.Lock()
	s.credential = run.NewToken()
	s.mu.Unlock()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	text, err := json.Marshal(run.Connection{URL: s.http.URL, CA: string(ca), Credential: s.credential})
	if err != nil {
		s.t.Fatal(err)
	}
	temporary := filepath.Join(s.dir, run.ConnectionFile+".tmp")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(s.dir, run.ConnectionFile)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fakeServer) stop() {
	s.notify()
	s.http.CloseClientConnections()
	s.http.Close()
}

// drainNow tells the runner to finish and exit.
func (s *fakeServer) drainNow() {
	s.setDrain(true)
	s.notify()
}

// setDrain sets whether polling runners are drained.
func (s *fakeServer) setDrain(drain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = drain
}

// notify wakes the long polls.
func (s *fakeServer) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.wake)
	s.wake = make(chan struct{})
}

// submit offers a run to the next runner that polls.
func (s *fakeServer) submit(r *fakeRun) *fakeRun {
	s.mu.Lock()
	r.token, r.changed = run.NewToken(), make(chan struct{})
	s.runs[r.spec.ID] = r
	s.offer(r)
	s.mu.Unlock()
	s.notify()
	return r
}

// offer queues a run. s.mu is held.
func (s *fakeServer) offer(r *fakeRun) {
	r.owner = lease.Owner{}
	a := run.Assignment{ID: r.spec.ID, Token: r.token}
	if !s.older {
		a.Spec = &r.spec
	}
	s.queue = append(s.queue, a)
}

// wait returns when the condition holds. It checks after every change of the run.
func (s *fakeServer) wait(r *fakeRun, what string, condition func() bool) {
	s.t.Helper()
	deadline := time.After(90 * time.Second)
	for {
		s.mu.Lock()
		ok, changed, log := condition(), r.changed, string(r.log)
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("waited too long for %s; the log says:\n%s", what, log)
		}
	}
}

// finished returns the result.
func (s *fakeServer) finished(r *fakeRun) *run.Result {
	s.t.Helper()
	s.wait(r, "the result", func() bool { return r.result != nil })
	return r.result
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, ok := strings.CutPrefix(req.URL.Path, run.PathPrefix)
	if !ok || req.Header.Get(run.HeaderProtocol) != fmt.Sprint(run.ProtocolVersion) {
		http.NotFound(w, req)
		return
	}
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if path == "/poll" {
		s.poll(w, req, token)
		return
	}
	id, part, _ := strings.Cut(strings.TrimPrefix(path, "/runs/"), "/")
	body, err := io.ReadAll(req.Body)
	if inner, ours := strings.CutPrefix(part, "registry"); ours && s.serveRegistry(w, req, id, token, inner) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	switch {
	case err != nil:
		return
	case r == nil || r.token != token:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.result != nil && part != "result":
		w.WriteHeader(http.StatusGone)
		return
	}
	r.requests = append(r.requests, req.Method+" "+part)
	r.serve(w, req, part, body)
	close(r.changed)
	r.changed = make(chan struct{})
}

// serveRegistry answers a download of a run that is not over.
func (s *fakeServer) serveRegistry(w http.ResponseWriter, req *http.Request, id, token, path string) bool {
	s.mu.Lock()
	r, registry := s.runs[id], s.registry
	over := r == nil || r.token != token || r.result != nil
	if !over {
		r.requests = append(r.requests, req.Method+" registry"+path)
	}
	s.mu.Unlock()
	if over || registry == nil {
		return false
	}
	inner := req.Clone(context.WithValue(req.Context(), asRun{}, r))
	inner.URL.Path = path
	w.Header().Set(run.HeaderRegistry, "1")
	registry.ServeHTTP(w, inner)
	return true
}

// asRun is the key of the run that asks the registry.
type asRun struct{}

func (s *fakeServer) poll(w http.ResponseWriter, req *http.Request, token string) {
	var p run.PollRequest
	if json.NewDecoder(req.Body).Decode(&p) != nil {
		return
	}
	timeout := time.After(run.PollWait)
	p.Home = run.HomeLocal
	s.mu.Lock()
	s.polls++
	s.last = p
	s.home = s.home.Takes(p.Runner, time.Now())
	s.settle(p)
	s.mu.Unlock()
	for {
		s.mu.Lock()
		if token != s.credential {
			s.mu.Unlock()
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		response := run.PollResponse{Drain: s.drain, Cancel: both(s.cancel, p.Active), Forget: both(s.forget, p.Active)}
		for _, id := range response.Cancel {
			if why := s.stops[id]; why != "" {
				response.Stop = map[string]string{id: why}
			}
		}
		if s.home.Left(p.Runner) { // it is dead, but its connection may not be closed yet
			response.Drain = true
		} else {
			response.Runs = s.hand(p)
		}
		wake := s.wake
		s.mu.Unlock()
		if len(response.Runs)+len(response.Cancel)+len(response.Forget) > 0 || response.Drain || p.Draining {
			answer(w, response)
			return
		}
		select {
		case <-wake:
		case <-timeout:
			answer(w, response)
			return
		case <-req.Context().Done():
			return
		}
	}
}

// hand takes runs from the queue for a runner. s.mu is held.
func (s *fakeServer) hand(p run.PollRequest) []run.Assignment {
	n := min(len(s.queue), p.Capacity)
	handed := s.queue[:n]
	s.queue = s.queue[n:]
	for _, a := range handed {
		if r := s.runs[a.ID]; r != nil {
			r.owner = lease.Owner{Home: p.Home, Runner: p.Runner}
		}
	}
	return handed
}

// settle decides like the real server which runs the polling runner has, and queues those whose
// answer was lost: the poll of a killed runner gets one as long as its connection seems open. s.mu
// is held.
func (s *fakeServer) settle(p run.PollRequest) {
	facts := lease.Facts{Now: time.Now(), Length: lease.Default, Homes: map[string]lease.Home{p.Home: s.home},
		Poll: &lease.Poll{Owner: lease.Owner{Home: p.Home, Runner: p.Runner}, Active: p.Active}}
	for id, r := range s.runs {
		if r.result != nil {
			continue
		}
		switch lease.Decide(lease.Run{ID: id, Owner: r.owner, Begun: len(r.requests) > 0}, facts) {
		case lease.Claimed:
			r.owner = facts.Poll.Owner
		case lease.Again:
			s.offer(r)
		}
	}
}

// pollsAfter reports whether there were n polls since its first call.
func (s *fakeServer) pollsAfter(count int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == 0 {
		s.seen = s.polls
	}
	return s.polls >= s.seen+count
}

// saw reports whether the last poll satisfies f.
func (s *fakeServer) saw(f func(run.PollRequest) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.last)
}

// both returns the items of a that are in b.
func both(a, b []string) []string {
	var out []string
	for _, item := range a {
		if slices.Contains(b, item) {
			out = append(out, item)
		}
	}
	return out
}

func (r *fakeRun) serve(w http.ResponseWriter, req *http.Request, part string, body []byte) {
	if digest := req.Header.Get(run.HeaderPlanDigest); digest != "" {
		if r.plans == nil {
			r.plans = map[string]string{}
		}
		r.plans[part] = digest
	}
	switch req.Method + " " + part {
	case "GET ":
		answer(w, r.spec)
	case "GET artifact":
		w.Write(r.artifact)
	case "GET plan":
		w.Write(r.plan)
	case "GET state":
		if r.state == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Write(r.state)
	case "PUT state":
		r.putState(w, req, body)
	case "PUT plan":
		r.savedPlan = body
	case "PUT plan.json":
		r.planJSON = body
	case "PUT plan.txt":
		r.planText = body
	case "PUT show.json":
		r.planShow = body
	case "GET identity":
		r.tokens++
		answer(w, run.IdentityToken{Token: tokenNumber(r.tokens), Expires: time.Now().Add(r.tokenLife)})
	case "GET log":
		answer(w, run.LogPosition{Offset: int64(len(r.log))})
	case "PUT log":
		r.putLog(w, req, body)
	case "POST continue":
		r.permit(w, body)
	case "POST result":
		if r.busy {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.result = &run.Result{}
		json.Unmarshal(body, r.result)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, req)
	}
}

func (r *fakeRun) putState(w http.ResponseWriter, req *http.Request, body []byte) {
	sequence, err := strconv.Atoi(req.Header.Get(run.HeaderSequence))
	if err == nil && sequence == r.sequence && bytes.Equal(body, r.lastState()) { // the runner was killed before it read the answer
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil || sequence <= r.sequence {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.sequence = sequence
	r.states = append(r.states, body)
	if r.refuse != 0 {
		w.WriteHeader(r.refuse)
		answer(w, run.Problem{Message: "another writer has moved the state", Class: run.FailureState})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *fakeRun) putLog(w http.ResponseWriter, req *http.Request, body []byte) {
	r.changing = r.changing || req.Header.Get(run.HeaderChanging) != ""
	var offset int64
	fmt.Sscan(req.Header.Get(run.HeaderOffset), &offset)
	if offset == int64(len(r.log)) {
		r.log = append(r.log, body...)
	}
	answer(w, run.LogPosition{Offset: int64(len(r.log))})
}

// permit answers the runner's request to continue.
func (r *fakeRun) permit(w http.ResponseWriter, body []byte) {
	var asked run.ContinueRequest
	json.Unmarshal(body, &asked)
	r.asked = append(r.asked, asked)
	if asked.Step == run.StepPlan && r.reviewing {
		w.WriteHeader(http.StatusServiceUnavailable) // not yet: ask again
		return
	}
	if asked.Step == run.StepPlan {
		answer(w, r.review)
		return
	}
	answer(w, r.answer)
}

// tokenNumber is a token of a cloud.
func tokenNumber(n int) string { return fmt.Sprintf("eyJhbGciOiJSUzI1NiJ9.token-%06d-of-a-cloud", n) }

func answer(w http.ResponseWriter, value any) { json.NewEncoder(w).Encode(value) }
