// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// protocol serves the run protocol to runners.
type protocol struct {
	opts     *Options
	hand     *hand
	dispatch *dispatch
	gate     *gate
	ending   *ending
	states   *stateIntake
}

// serve answers a request about a run: with nil, bytes of JSON, a stream, or a value to encode.
type serve func(en *entry, w http.ResponseWriter, r *http.Request) (answer any, err error)

// Handler serves the run protocol (see package run) below run.PathPrefix.
func (p *protocol) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+run.PathPrefix+"/poll", p.poll)
	for pattern, serve := range map[string]serve{
		"GET ":              serveSpec,
		"GET /artifact":     p.serveArtifact,
		"GET /plan":         p.serveSavedPlan,
		"GET /state":        p.serveState,
		"GET /identity":     p.serveToken,
		"PUT /state":        p.takeState,
		"PUT /plan":         p.takePlan(run.BlobPlan),
		"PUT /plan.json":    p.takePlan(run.BlobPlanJSON),
		"PUT /plan.txt":     p.takePlan(run.BlobPlanText),
		"PUT /show.json":    p.takePlan(run.BlobPlanShow),
		"PUT /outputs.json": p.takePlan(run.BlobPlanOutputs),
		"GET /log":          serveLogPosition,
		"PUT /log":          p.takeLog,
		"POST /continue":    p.takeQuestion,
		"POST /result":      p.takeResult,
	} {
		method, part, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+run.PathPrefix+"/runs/{id}"+part, p.forRun(serve))
	}
	mux.Handle("GET "+run.PathPrefix+"/runs/{id}/registry/", p.forRun(p.serveRegistry)) // also HEAD
	return versioned(mux)
}

// versioned refuses runners whose version of the protocol this server does not support.
func versioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := strconv.Atoi(r.Header.Get(run.HeaderProtocol))
		if err != nil || v > run.ProtocolVersion || v < run.ProtocolVersion-1 || v < 1 {
			refused(http.StatusUpgradeRequired, "this server speaks version %d of the run protocol and the one before; the runner named %q",
				run.ProtocolVersion, r.Header.Get(run.HeaderProtocol)).send(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (p *protocol) poll(w http.ResponseWriter, r *http.Request) {
	home, err := p.identify(r)
	if err != nil {
		p.opts.Log.Warn("identifying a runner", "error", err)
		refused(http.StatusServiceUnavailable, "poll: %s", err).send(w)
		return
	}
	if home == "" {
		refused(http.StatusUnauthorized, "poll: not this server's runner").send(w)
		return
	}
	listener.Authenticated(r.Context())
	var req run.PollRequest
	if err := readJSON(w, r, 1<<20, &req); err != nil {
		refused(http.StatusBadRequest, "%s", err).send(w)
		return
	}
	if home != anyHome {
		req.Home = home
	}
	answer := p.dispatch.poll(r.Context(), req)
	send(w, answer)
	if answer.Drain {
		p.dispatch.noteDrainSent()
	}
}

// anyHome is the answer of identify for the runners' common credential.
const anyHome = "*"

// identify finds the home whose runner polls, by its credential; empty for strangers.
func (p *protocol) identify(r *http.Request) (home string, err error) {
	token := bearer(r)
	if same(token, p.opts.Credential) {
		return anyHome, nil
	}
	if p.opts.Identify == nil || token == "" {
		return "", nil
	}
	return p.opts.Identify(r.Context(), token)
}

// forRun finds the run of a request and checks its token. Strangers learn nothing about others.
func (p *protocol) forRun(serve serve) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.hand.mu.Lock()
		en := p.hand.runs[r.PathValue("id")]
		begun, ours := en != nil && en.started, en != nil && same(bearer(r), en.token)
		if ours {
			en.claimed = true
			p.hand.homes.renew(en.owner.Home)
		}
		p.hand.mu.Unlock()
		if en == nil {
			errOver.send(w)
			return
		}
		if !ours {
			refused(http.StatusUnauthorized, "not this run's token").send(w)
			return
		}
		listener.Authenticated(r.Context())
		if !begun {
			p.dispatch.begin(en)
		}
		answer, err := serve(en, w, r)
		if err != nil {
			p.fail(en, w, r, err)
			return
		}
		send(w, answer)
	})
}

// refusal is an error with its response. It is part of the protocol and not logged.
type refusal struct {
	status  int
	problem run.Problem
}

func refused(status int, format string, args ...any) *refusal {
	return &refusal{status, run.Problem{Message: fmt.Sprintf(format, args...)}}
}

func (e *refusal) Error() string { return e.problem.Message }

func (e *refusal) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	json.NewEncoder(w).Encode(e.problem) //nolint:errcheck // the runner repeats the request
}

// errOver answers a request that arrives after the end of its run.
var errOver = refused(http.StatusGone, "the run is over")

// fail answers with an error: "try again", unless that cannot help.
func (p *protocol) fail(en *entry, w http.ResponseWriter, r *http.Request, err error) {
	var (
		known    *refusal
		conflict *state.ConflictError
		tooLarge *http.MaxBytesError
		other    *otherPlanError
	)
	answer := refused(http.StatusServiceUnavailable, "%s", err)
	switch {
	case errors.As(err, &known):
		known.send(w)
		return
	case state.Denied(err): // the runner retries, less often
		answer.problem.Class = run.FailureState
	case errors.As(err, &conflict), state.Lasting(err):
		answer.status, answer.problem.Class = http.StatusConflict, run.FailureState
	case errors.As(err, &other):
		answer.status, answer.problem.Class = http.StatusConflict, run.FailureStalePlan
	case errors.As(err, &tooLarge):
		answer.status, answer.problem.Class = http.StatusRequestEntityTooLarge, run.FailureLimit
	case errors.Is(err, context.Canceled):
		return
	}
	p.opts.Log.Warn("cannot answer a runner", "stack", en.stack.String(), "run", en.id, "request", r.Method+" "+r.URL.Path, "error", err)
	answer.send(w)
}

// serveSpec serves runners that did not get the spec with the run.
func serveSpec(en *entry, _ http.ResponseWriter, _ *http.Request) (any, error) { return en.spec, nil }

func (p *protocol) serveArtifact(en *entry, _ http.ResponseWriter, r *http.Request) (any, error) {
	return p.opts.Blobs.OpenArtifact(r.Context(), en.spec.Artifact.Digest)
}

func (p *protocol) serveSavedPlan(en *entry, _ http.ResponseWriter, r *http.Request) (any, error) {
	plan := en.spec.Plan
	if plan == nil {
		return nil, refused(http.StatusNotFound, "the run applies no saved plan")
	}
	body, err := p.opts.Blobs.Open(r.Context(), en.stack.Key(plan.RunID, run.BlobPlan))
	if errors.Is(err, blob.ErrNotFound) {
		gone := refused(http.StatusConflict, "the plan of run %s is no longer stored; a fresh plan is needed", plan.RunID)
		gone.problem.Class = run.FailureStalePlan
		return nil, gone
	}
	return body, err
}

func (p *protocol) serveState(en *entry, _ http.ResponseWriter, r *http.Request) (any, error) {
	snapshot, err := p.states.read(r.Context(), en)
	if err != nil || snapshot == nil || snapshot.Data == nil {
		return nil, err
	}
	return snapshot.Data, nil
}

// serveToken issues a token for an audience that the run names.
func (p *protocol) serveToken(en *entry, _ http.ResponseWriter, r *http.Request) (any, error) {
	audience := r.URL.Query().Get("audience")
	named := slices.ContainsFunc(en.spec.Identities, func(i run.Identity) bool { return i.Audience == audience })
	if !named || p.opts.Token == nil {
		return nil, refused(http.StatusNotFound, "the run has no token for the audience %s", audience)
	}
	token, err := p.opts.Token(r.Context(), en.record(), audience)
	var no *run.RefusedError
	if errors.As(err, &no) {
		final := refused(http.StatusConflict, "%s", err)
		final.problem.Class = run.FailureConfiguration
		return nil, final
	}
	return token, err
}

func (p *protocol) takeState(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
	sequence, err := strconv.Atoi(r.Header.Get(run.HeaderSequence))
	if err != nil || sequence < 1 {
		return nil, refused(http.StatusBadRequest, "a state needs its sequence number, from 1")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, en.spec.Limits.StateBytes))
	if err != nil {
		return nil, err
	}
	return nil, p.states.write(r.Context(), en, sequence, data)
}

func serveLogPosition(en *entry, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return en.log.Position(), nil
}

func (p *protocol) takeLog(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
	offset, err := strconv.ParseInt(r.Header.Get(run.HeaderOffset), 10, 64)
	if err != nil || offset < 0 {
		return nil, refused(http.StatusBadRequest, "a piece of log needs its offset")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	if r.Header.Get(run.HeaderChanging) != "" {
		p.hand.changes(en)
	}
	return en.log.Write(offset, data)
}

// maxQuestion limits a question, which names up to ten thousand objects of a plan.
const maxQuestion = 16 << 20

// takeQuestion answers whether a run may continue.
func (p *protocol) takeQuestion(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
	var req run.ContinueRequest
	if err := readJSON(w, r, maxQuestion, &req); err != nil {
		return nil, err
	}
	if no := en.refuseOther(req); no != nil {
		return no, nil
	}
	switch req.Step {
	case run.StepInit:
		return p.gate.inspect(r.Context(), en, req)
	case run.StepPlan:
		return p.gate.review(r.Context(), en, req)
	}
	return p.gate.proceed(r.Context(), en, req)
}

// takeResult ends the run, even if the runner hangs up.
func (p *protocol) takeResult(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
	var result run.Result
	if err := readJSON(w, r, 32<<20, &result); err != nil {
		return nil, err
	}
	return nil, p.ending.finish(context.WithoutCancel(r.Context()), en, result)
}

func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(into); err != nil {
		return refused(http.StatusBadRequest, "read the request: %s", err)
	}
	return nil
}

// send sends the answer of a serve function.
func send(w http.ResponseWriter, answer any) {
	switch answer := answer.(type) {
	case answered:
	case nil:
		w.WriteHeader(http.StatusNoContent)
	case io.ReadCloser:
		defer answer.Close() //nolint:errcheck // read only
		w.Header().Set("Content-Type", "application/octet-stream")
		if _, err := io.Copy(w, answer); err != nil {
			panic(http.ErrAbortHandler) // part of the answer is sent: only this shows the runner that it is incomplete
		}
	case []byte:
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer) //nolint:errcheck // the runner repeats the request
	default:
		data, err := json.Marshal(answer)
		if err != nil {
			refused(http.StatusInternalServerError, "%s", err).send(w)
			return
		}
		send(w, data)
	}
}
