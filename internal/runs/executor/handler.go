// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Handler serves the run protocol (see package run) below run.PathPrefix.
func (e *Executor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+run.PathPrefix+"/poll", e.servePoll)
	for pattern, serve := range map[string]func(*entry, http.ResponseWriter, *http.Request) error{
		"GET ":           e.serveSpec,
		"GET /artifact":  e.serveArtifact,
		"GET /plan":      e.serveSavedPlan,
		"GET /state":     e.serveState,
		"PUT /state":     e.takeState,
		"PUT /plan":      e.takePlan(run.BlobPlan),
		"PUT /plan.json": e.takePlan(run.BlobPlanJSON),
		"PUT /plan.txt":  e.takePlan(run.BlobPlanText),
		"PUT /show.json": e.takePlan(run.BlobPlanShow),
		"GET /log":       e.serveLogPosition,
		"PUT /log":       e.takeLog,
		"POST /continue": e.serveContinue,
		"POST /result":   e.takeResult,
	} {
		method, part, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+run.PathPrefix+"/runs/{id}"+part, e.forRun(serve))
	}
	return versioned(mux)
}

// versioned refuses runners that speak a version this server does not.
func versioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := strconv.Atoi(r.Header.Get(run.HeaderProtocol))
		if err != nil || v > run.ProtocolVersion || v < run.ProtocolVersion-1 || v < 1 {
			problem(w, http.StatusUpgradeRequired, run.Problem{Message: fmt.Sprintf(
				"this server speaks version %d of the run protocol and the one before; the runner named %q",
				run.ProtocolVersion, r.Header.Get(run.HeaderProtocol))})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// drains reports whether the whole server does, not only one runner.
func (e *Executor) drains() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (e *Executor) servePoll(w http.ResponseWriter, r *http.Request) {
	if !same(bearer(r), e.opts.Credential) {
		problem(w, http.StatusUnauthorized, run.Problem{Message: "poll: not this server's runner"})
		return
	}
	var req run.PollRequest
	if err := readJSON(w, r, 1<<20, &req); err != nil {
		problem(w, http.StatusBadRequest, run.Problem{Message: err.Error()})
		return
	}
	answer := e.poll(r.Context(), req)
	reply(w, answer)
	if answer.Drain && e.drains() {
		e.tellOnce.Do(func() { close(e.told) })
	}
}

// forRun finds the run a request is about and checks its token. Of what is not in hand nothing is known here but that
// nothing more of it is wanted, which tells a stranger nothing.
func (e *Executor) forRun(serve func(*entry, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		en := e.hand[r.PathValue("id")]
		begun, ours := en != nil && en.started, en != nil && same(bearer(r), en.token)
		if ours {
			e.renew(en.owner.Home)
		}
		e.mu.Unlock()
		if en == nil {
			problem(w, http.StatusGone, run.Problem{Message: errOver.Error()})
			return
		}
		if !ours {
			problem(w, http.StatusUnauthorized, run.Problem{Message: "not this run's token"})
			return
		}
		if !begun {
			e.begin(en)
		}
		if err := serve(en, w, r); err != nil {
			e.fail(en, w, r, err)
		}
	})
}

// errOver answers a request that was on its way when its run ended. Nothing may come of it: an answer to "may I apply"
// would take a lock that nobody gives back.
var errOver = errors.New("the run is over")

// fail answers an error: for good when trying again cannot help, "try again" otherwise.
func (e *Executor) fail(en *entry, w http.ResponseWriter, r *http.Request, err error) {
	var (
		conflict *state.ConflictError
		tooLarge *http.MaxBytesError
		other    *otherPlanError
	)
	status, class := http.StatusServiceUnavailable, run.Failure("")
	switch {
	case state.Denied(err):
		class = run.FailureState // tried again all the same, and less often
	case errors.Is(err, errOver):
		problem(w, http.StatusGone, run.Problem{Message: err.Error()})
		return
	case errors.As(err, &conflict), state.Lasting(err):
		status, class = http.StatusConflict, run.FailureState
	case errors.As(err, &other):
		status, class = http.StatusConflict, run.FailureStalePlan
	case errors.As(err, &tooLarge):
		status, class = http.StatusRequestEntityTooLarge, run.FailureLimit
	case errors.Is(err, errReviewing): // every 20 seconds, and nobody's mistake
		problem(w, status, run.Problem{Message: err.Error()})
		return
	case errors.Is(err, context.Canceled):
		return
	}
	e.log.Warn("answering a runner", "stack", en.stack.String(), "run", en.id, "request", r.Method+" "+r.URL.Path, "error", err)
	problem(w, status, run.Problem{Message: err.Error(), Class: class})
}

// begin takes note that a runner has the run: who asks for anything of it by its token has begun it.
func (e *Executor) begin(en *entry) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.record().Started != nil {
		return
	}
	now := time.Now().UTC()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopWaiting(en)
	if en.owner.Home == "" && !en.held { // an earlier server handed it out, and only to the local home without a record of that
		en.owner.Home = run.HomeLocal
	}
	// This goes on record with what the run does next: a server that starts anew asks the runners for any run.
	en.started = true
	en.change(func(rec *run.Record) {
		rec.Started, rec.Runner, rec.Home = &now, en.owner.Runner, homeOnRecord(en.owner.Home)
	})
}

// serveSpec is for runners that were not given the spec with the run.
func (e *Executor) serveSpec(en *entry, w http.ResponseWriter, _ *http.Request) error {
	reply(w, en.spec)
	return nil
}

func (e *Executor) serveArtifact(en *entry, w http.ResponseWriter, r *http.Request) error {
	body, err := e.opts.Blobs.OpenArtifact(r.Context(), en.record().Spec.Artifact.Digest)
	if err != nil {
		return err
	}
	return copyOut(w, body)
}

func (e *Executor) serveSavedPlan(en *entry, w http.ResponseWriter, r *http.Request) error {
	rec := en.record()
	if rec.Spec.Plan == nil {
		problem(w, http.StatusNotFound, run.Problem{Message: "the run applies no saved plan"})
		return nil
	}
	body, err := e.opts.Blobs.Open(r.Context(), rec.Spec.Stack.Key(rec.Spec.Plan.RunID, run.BlobPlan))
	if errors.Is(err, blob.ErrNotFound) {
		problem(w, http.StatusConflict, run.Problem{Class: run.FailureStalePlan, Message: fmt.Sprintf(
			"the plan that run %s made is not stored any more; a fresh plan is needed", rec.Spec.Plan.RunID)})
		return nil
	}
	if err != nil {
		return err
	}
	return copyOut(w, body)
}

func copyOut(w http.ResponseWriter, body io.ReadCloser) error {
	defer body.Close() //nolint:errcheck // read only
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, body); err != nil {
		// The answer has begun; only a broken connection tells the runner that it is not whole.
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (e *Executor) serveState(en *entry, w http.ResponseWriter, r *http.Request) error {
	snapshot, err := e.readState(r.Context(), en)
	if err != nil {
		return err
	}
	if snapshot == nil || snapshot.Data == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(snapshot.Data)
	return err
}

func (e *Executor) takeState(en *entry, w http.ResponseWriter, r *http.Request) error {
	sequence, err := strconv.Atoi(r.Header.Get(run.HeaderSequence))
	if err != nil || sequence < 1 {
		problem(w, http.StatusBadRequest, run.Problem{Message: "a state needs its sequence number, from 1"})
		return nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, en.record().Spec.Limits.StateBytes))
	if err != nil {
		return err
	}
	if err := e.writeState(r.Context(), en, sequence, data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (e *Executor) serveLogPosition(en *entry, w http.ResponseWriter, _ *http.Request) error {
	reply(w, en.log.position())
	return nil
}

func (e *Executor) takeLog(en *entry, w http.ResponseWriter, r *http.Request) error {
	offset, err := strconv.ParseInt(r.Header.Get(run.HeaderOffset), 10, 64)
	if err != nil || offset < 0 {
		problem(w, http.StatusBadRequest, run.Problem{Message: "a piece of log needs its offset"})
		return nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		return err
	}
	if r.Header.Get(run.HeaderChanging) != "" {
		e.changes(en)
	}
	pos, err := en.log.write(offset, data)
	if err != nil {
		return err
	}
	reply(w, pos)
	return nil
}

// changes takes note that a run which plans and applies with one process has begun to change something.
func (e *Executor) changes(en *entry) {
	if !en.record().Planning {
		return
	}
	en.change(func(rec *run.Record) { rec.Planning = false })
	e.mu.Lock()
	e.announce() // a wish to call it back is void
	e.mu.Unlock()
	if e.opts.Changing != nil {
		e.opts.Changing(en.record())
	}
}

// maxContinue bounds a question: it names what a plan makes and destroys, ten thousand objects at most.
const maxContinue = 16 << 20

func (e *Executor) serveContinue(en *entry, w http.ResponseWriter, r *http.Request) error {
	var req run.ContinueRequest
	if err := readJSON(w, r, maxContinue, &req); err != nil {
		problem(w, http.StatusBadRequest, run.Problem{Message: err.Error()})
		return nil
	}
	if no := en.refuseOther(req); no != nil {
		reply(w, no)
		return nil
	}
	decide := e.proceed
	if req.Step == run.StepPlan {
		decide = e.review
	}
	answer, err := decide(r.Context(), en, req)
	if err != nil {
		return err
	}
	reply(w, answer)
	return nil
}

// takeResult ends the run. It goes on when the runner hangs up: a result half recorded would be recorded again, but
// nobody should wait for that.
func (e *Executor) takeResult(en *entry, w http.ResponseWriter, r *http.Request) error {
	var result run.Result
	if err := readJSON(w, r, 32<<20, &result); err != nil {
		problem(w, http.StatusBadRequest, run.Problem{Message: err.Error()})
		return nil
	}
	if err := e.finish(context.WithoutCancel(r.Context()), en, result); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(into); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

func reply(w http.ResponseWriter, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		problem(w, http.StatusInternalServerError, run.Problem{Message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body.Bytes()) //nolint:errcheck // the runner asks again
}

func problem(w http.ResponseWriter, status int, p run.Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck // the runner asks again
}
