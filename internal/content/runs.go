// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

// log serves a run's log: of the run named, else of the one in hand, else of the last one.
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
		panic(http.ErrAbortHandler) // the client must see that it is not whole
	}
	if err == nil {
		body.begin()
	}
	return err
}

const (
	// announcedPatience is how long a run may take to be in hand once its stack names it; it takes milliseconds.
	announcedPatience = 5 * time.Second
	announcedPause    = 20 * time.Millisecond
)

// writeLog waits for the run that the stack names, if need be: the status names a run a moment before it is in hand, and
// whoever watches stacks may ask for its log in that moment.
func (h *Handler) writeLog(ctx context.Context, obj *infrav1.Terraform, id string, follow bool, w io.Writer) error {
	patience, again := time.NewTimer(announcedPatience), time.NewTicker(announcedPause)
	defer patience.Stop()
	defer again.Stop()
	for {
		err := h.Runs.WriteLog(ctx, stackOf(obj), id, follow, w)
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
	if rec, _, ok := h.Runs.InHand(stackOf(obj)); ok {
		return rec.Spec.ID, nil
	}
	if ref := obj.Status.CurrentRun; ref != nil {
		return ref.ID, nil
	}
	if ref := obj.Status.LastRun; ref != nil {
		return ref.ID, nil
	}
	return "", notFound(fmt.Sprintf("%s/%s has not had a run yet", obj.Namespace, obj.Name))
}

// lateHeader sends the header with the first byte, so that an error before that can still be answered as one.
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

// plan serves a readable plan: of the run named, else the pending one, else that of the last run that has one.
func (h *Handler) plan(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	stack, id := stackOf(obj), r.URL.Query().Get("run")
	if id == "" {
		id = obj.Status.Plan.RunID
	}
	if id == "" {
		var err error
		if id, err = h.lastPlanned(r, stack); err != nil {
			return err
		}
	}
	data, err := h.Runs.ReadPlan(r.Context(), stack, id)
	if errors.Is(err, run.ErrNotFound) {
		data, err = h.unchanged(r, stack, id, err)
	}
	if err != nil {
		if errors.Is(err, run.ErrNotFound) {
			return notFound(fmt.Sprintf("run %s of %s has no readable plan: only plans that wait for a person are described; its log tells what was planned", id, stack))
		}
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data) //nolint:errcheck // the client is gone
	return nil
}

// unchanged describes the plan of a run that found nothing to do: the tool was not asked to. Of any other run the error
// stays what it is.
func (h *Handler) unchanged(r *http.Request, stack run.Stack, id string, missing error) ([]byte, error) {
	rec, err := h.Runs.Record(r.Context(), stack, id)
	if err != nil || rec.Result == nil || rec.Result.Plan == nil || rec.Result.Plan.Changes {
		return nil, missing
	}
	return plan.Nothing(rec.Result.ToolVersion)
}

// planSearch is how many runs are looked at for one with a readable plan.
const planSearch = 50

func (h *Handler) lastPlanned(r *http.Request, stack run.Stack) (string, error) {
	records, err := h.Runs.List(r.Context(), stack, planSearch)
	if err != nil {
		return "", err
	}
	for _, rec := range records {
		if rec.Spec.Describe && rec.Result != nil && rec.Result.Plan != nil {
			return rec.Spec.ID, nil
		}
	}
	return "", notFound(fmt.Sprintf("%s has no readable plan: only plans that wait for a person are described; `yuba logs` tells what was planned", stack))
}

const defaultRuns, maxRuns = 20, 500

func (h *Handler) runs(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	limit := defaultRuns
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRuns {
			return badRequest(fmt.Sprintf("limit %q: want a number from 1 to %d", text, maxRuns))
		}
		limit = n
	}
	if id := r.URL.Query().Get("run"); id != "" {
		rec, err := h.Runs.Record(r.Context(), stackOf(obj), id)
		if err != nil {
			return err
		}
		return writeJSON(w, RunList{Items: []run.Record{rec.Public()}})
	}
	records, err := h.Runs.List(r.Context(), stackOf(obj), limit)
	if err != nil {
		return err
	}
	list := RunList{Items: make([]run.Record, 0, len(records))}
	for _, rec := range records {
		list.Items = append(list.Items, rec.Public())
	}
	return writeJSON(w, list)
}
