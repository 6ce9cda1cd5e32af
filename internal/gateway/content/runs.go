// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// log serves a run's log: of the named run, else the current one, else the last one.
func (h *Handler) log(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	id := r.URL.Query().Get("run")
	if id == "" {
		var err error
		if id, err = h.presentRun(r, obj); err != nil {
			return err
		}
	}
	follow, _ := strconv.ParseBool(r.URL.Query().Get("follow")) //nolint:errcheck // anything else means no
	body := &lateHeader{ResponseWriter: w}
	err := h.writeLog(r.Context(), obj, id, follow, body)
	if err != nil && body.begun {
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	if err == nil {
		body.begin()
	}
	return err
}

const (
	// announcedPatience is the time from a stack naming a run in its status until the run must
	// exist. It takes milliseconds.
	announcedPatience = 5 * time.Second
	announcedPause    = 20 * time.Millisecond
)

// writeLog waits for the run that the stack names, if needed: the status names a run shortly before
// it exists, and clients that watch stacks may request its log then.
func (h *Handler) writeLog(ctx context.Context, obj *infrav1.Terraform, id string, follow bool, w io.Writer) error {
	patience, again := time.NewTimer(announcedPatience), time.NewTicker(announcedPause)
	defer patience.Stop()
	defer again.Stop()
	for {
		err := h.Runs.WriteLog(ctx, run.StackOf(obj), id, follow, w)
		if !errors.Is(err, run.ErrNotFound) || obj.Status.CurrentRun == nil || obj.Status.CurrentRun.ID != id {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return err
		case <-again.C:
		}
	}
}

func (h *Handler) presentRun(r *http.Request, obj *infrav1.Terraform) (string, error) {
	if rec, _, ok := h.Runs.InHand(run.StackOf(obj)); ok {
		return rec.Spec.ID, nil
	}
	if ref := obj.Status.CurrentRun; ref != nil {
		return ref.ID, nil
	}
	if ref := obj.Status.LastRun; ref != nil {
		return ref.ID, nil
	}
	return "", notFound(fmt.Sprintf("%s/%s does not have a run yet", obj.Namespace, obj.Name))
}

// lateHeader sends the header with the first byte, so that errors can come before.
type lateHeader struct {
	http.ResponseWriter
	begun bool
}

func (l *lateHeader) begin() {
	if !l.begun {
		l.begun = true
		l.Header().Set("Content-Type", "application/x-ndjson")
		l.WriteHeader(http.StatusOK)
	}
}

func (l *lateHeader) Write(p []byte) (int, error) {
	l.begin()
	return l.ResponseWriter.Write(p)
}

func (l *lateHeader) Flush() {
	l.begin()
	http.NewResponseController(l.ResponseWriter).Flush() //nolint:errcheck // the next write tells
}

// plan serves a readable plan: of the named run, the pending one, or the last one.
func (h *Handler) plan(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	stack, id := run.StackOf(obj), r.URL.Query().Get("run")
	if id == "" {
		id = obj.Status.Plan.RunID
	}
	var data []byte
	var err error
	if id == "" {
		id, data, err = h.lastPlan(r, stack)
	} else {
		data, err = h.readPlan(r, stack, id)
	}
	if errors.Is(err, run.ErrNotFound) {
		if _, err := h.Runs.Record(r.Context(), stack, id); errors.Is(err, run.ErrNotFound) {
			return notFound(fmt.Sprintf("%s does not have a run %s", stack, id))
		}
		return notFound(fmt.Sprintf("run %s of %s does not have a readable plan: Yuba stores only those of plans that wait for approval. See its log instead", id, stack))
	}
	if err != nil {
		return err
	}
	if data, err = h.withStanding(r.Context(), obj, id, data); err != nil {
		return err
	}
	return sendJSON(w, data)
}

func (h *Handler) readPlan(r *http.Request, stack run.Stack, id string) ([]byte, error) {
	data, err := h.Runs.ReadPlan(r.Context(), stack, id)
	if errors.Is(err, run.ErrNotFound) {
		return h.unchanged(r, stack, id, err)
	}
	return data, err
}

// unchanged describes the plan of a run without changes, for which the tool made no description.
// For any other run it returns the error missing.
func (h *Handler) unchanged(r *http.Request, stack run.Stack, id string, missing error) ([]byte, error) {
	rec, err := h.Runs.Record(r.Context(), stack, id)
	if err != nil || rec.Result == nil || rec.Result.Plan == nil || rec.Result.Plan.Changes {
		return nil, missing
	}
	return plan.Nothing(rec.Result.ToolVersion)
}

// planSearch is how many runs are searched for a readable plan.
const planSearch = 50

// lastPlan returns the last applied or made plan that is still stored, and the run that made it.
func (h *Handler) lastPlan(r *http.Request, stack run.Stack) (string, []byte, error) {
	records, err := h.Runs.List(r.Context(), stack, planSearch)
	if err != nil {
		return "", nil, err
	}
	gone, seen := "", map[string]bool{}
	for _, rec := range records {
		id := plannedBy(rec)
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		data, err := h.readPlan(r, stack, id)
		if !errors.Is(err, run.ErrNotFound) {
			return id, data, err
		}
		gone = cmp.Or(gone, id)
	}
	if gone != "" {
		return "", nil, notFound(fmt.Sprintf("the plan of run %s of %s is no longer stored. See it in `yuba logs`", gone, stack))
	}
	return "", nil, notFound(fmt.Sprintf("%s does not have a readable plan: Yuba stores only those of plans that wait for approval. See `yuba logs` instead", stack))
}

// plannedBy returns the run whose plan this run applied or, on request, made; "" if there is none.
func plannedBy(rec run.Record) string {
	switch result := rec.Result; {
	case rec.Spec.Plan != nil && (result == nil || result.ApplyStarted):
		return rec.Spec.Plan.RunID // later drift checks planned the same
	case rec.Spec.Describe && result != nil && result.Plan != nil:
		return rec.Spec.ID
	}
	return ""
}

// cancel cancels the current run and responds with its record, with a result if it has ended
// already. With an id it cancels only that run.
func (h *Handler) cancel(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	id := r.URL.Query().Get("run")
	rec, err := h.Runs.Stop(r.Context(), run.StackOf(obj), id, user(r))
	switch {
	case errors.Is(err, run.ErrNotFound) && id == "":
		return notFound(fmt.Sprintf("%s/%s does not have a waiting or running run", obj.Namespace, obj.Name))
	case errors.Is(err, run.ErrNotFound):
		return notFound(fmt.Sprintf("run %s of %s/%s is neither waiting nor running", id, obj.Namespace, obj.Name))
	case err != nil:
		return err
	}
	h.Log.Info("canceled", "stack", run.StackOf(obj).String(), "run", rec.Spec.ID, "by", user(r))
	return writeJSON(w, rec.PublicTo(user(r)))
}

const defaultRuns, maxRuns = 20, 500

func (h *Handler) runs(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	limit := defaultRuns
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRuns {
			return badRequest(fmt.Sprintf("limit %q: expected a number from 1 to %d", text, maxRuns))
		}
		limit = n
	}
	if id := r.URL.Query().Get("run"); id != "" {
		rec, err := h.Runs.Record(r.Context(), run.StackOf(obj), id)
		if err != nil {
			return err
		}
		return writeJSON(w, RunList{Items: []run.Record{rec.PublicTo(user(r))}})
	}
	records, err := h.Runs.List(r.Context(), run.StackOf(obj), limit)
	if err != nil {
		return err
	}
	list := RunList{Items: make([]run.Record, 0, len(records))}
	for _, rec := range records {
		list.Items = append(list.Items, rec.PublicTo(user(r)))
	}
	return writeJSON(w, list)
}

// why explains the decision about a stack. It is computed on request, and changes nothing.
func (h *Handler) why(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	why, err := h.Why(r.Context(), client.ObjectKeyFromObject(obj))
	if err != nil {
		return err
	}
	return writeJSON(w, why)
}
