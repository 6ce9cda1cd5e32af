// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// The number of runs on a page, and at most.
const (
	someRuns = 50
	maxRuns  = 500
)

// runRow is a run in the history.
type runRow struct {
	ID, Address    string
	What           string
	State, Outcome string
	Changes        string
	Created        time.Time
	Took           string
	Why, By        string
	// Plan leads to the plan that it made or applied; empty for none.
	Plan string
}

type runList struct {
	Rows []runRow
	// More leads to more of them; empty if there are no more.
	More string
}

// runs shows the history of runs.
func (p pages) runs(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba runs " + key.String()}
	limit := someRuns
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && n > 0 {
		limit = min(n, maxRuns)
	}
	list, err := r.As.Content.Runs(r.Context(), key.Namespace, key.Name, limit)
	if err != nil {
		return instead(page, "stack-runs", err)
	}
	view := runList{}
	for _, rec := range list.Items {
		view.Rows = append(view.Rows, runRowOf(key, rec))
	}
	if len(list.Items) == limit && limit < maxRuns {
		view.More = address(key, "runs") + "?limit=" + strconv.Itoa(min(4*limit, maxRuns))
	}
	add(page, "stack-runs", view)
	return nil
}

// runRowOf is a run in short.
func runRowOf(key client.ObjectKey, rec run.Record) runRow {
	row := runRow{ID: rec.Spec.ID, Address: address(key, "runs", rec.Spec.ID), What: rec.Spec.Title(), Created: rec.Created, Why: rec.Trigger, By: rec.By}
	if rec.Passes > 1 {
		row.Why += " (" + strconv.Itoa(rec.Passes) + " times in a row)"
	}
	row.State, row.Outcome = outcomeOf(rec)
	if result := rec.Result; result != nil {
		switch {
		case result.AppliedCounts != nil:
			row.Changes = summary(*result.AppliedCounts)
		case result.Plan != nil:
			row.Changes = summary(result.Plan.Counts)
		}
		if rec.Started != nil {
			row.Took = took(result.Finished.Sub(*rec.Started))
		}
	}
	row.Plan = planOf(key, rec)
	return row
}

// outcomeOf is how a run stands: the class of its mark, and words.
func outcomeOf(rec run.Record) (state, words string) {
	switch result := rec.Result; {
	case result != nil && result.Outcome == run.OutcomeSucceeded:
		return "ready", "succeeded"
	case result != nil && result.Outcome == run.OutcomeCanceled:
		return "suspended", endOf(result)
	case result != nil:
		return "failed", string(result.Outcome)
	case rec.Started != nil:
		return "running", "running"
	}
	return "waiting", "waiting"
}

func summary(c run.Counts) string {
	return plan.Counts{Add: c.Add, Change: c.Change, Destroy: c.Destroy}.Summary()
}

// planOf is where the plan that a run made or applied is, if it is stored.
func planOf(key client.ObjectKey, rec run.Record) string {
	id := ""
	switch {
	case rec.Spec.Plan != nil:
		id = rec.Spec.Plan.RunID
	case rec.Spec.Describe && rec.Result != nil && rec.Result.Plan != nil:
		id = rec.Spec.ID
	}
	if id == "" {
		return ""
	}
	return with(address(key, "plan"), nil, "run", id)
}

// runView is the record of a run.
type runView struct {
	runRow
	Started, Finished any
	Revision, Tool    string
	PlanID            string
	Runner            string
	Error, FailedStep string
	Text              string
	Warnings, Notices []string
	Drift             []string
	Steps             []step
	Unproven          []run.Unproven
	UnprovenMore      int
	UnprovenNote      string
	StoppedBy         string
	Waits             string
	Cancel            *control
	Ended             bool
}

type step struct {
	Name      string
	Started   time.Time
	Wall, CPU string
	Failed    bool
}

// run shows one run, live while it executes.
func (p pages) run(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key, id := client.ObjectKeyFromObject(t), r.PathValue("run")
	page.Title = "Run " + id
	page.Trail = append(page.Trail, site.Link{Text: "Runs", Address: address(key, "runs")})
	page.Commands = []string{shell.Line("yuba", "logs", key.String(), "--run", id), shell.Line("yuba", "plan", key.String(), "--run", id)}
	rec, err := r.As.Content.Run(r.Context(), key.Namespace, key.Name, id)
	// The status names a run shortly before it exists.
	if c := t.Status.CurrentRun; apierrors.IsNotFound(err) && c != nil && c.ID == id {
		page.Parts = append(page.Parts, site.Part{ID: "stack-run", View: "stack-note", Data: note{Says: "This run is " + c.Status + ". Its record is being written."}})
		return nil
	}
	if apierrors.IsNotFound(err) {
		page.Code = http.StatusNotFound
		trace := trace{Says: "Run " + id + " of " + key.String() + " is not stored: it never was, or its record was removed since. The last runs are listed under Runs."}
		readTrace(r, key, id, &trace)
		add(page, "stack-trace", trace)
		return nil
	}
	if err != nil {
		return instead(page, "stack-run", err)
	}
	view := runViewOf(key, rec)
	if !view.Ended {
		for _, c := range controls(r, t) {
			if c.Address == address(key, "cancel") && len(c.Values) == 1 && c.Values[0].Value == id {
				view.Cancel = &c
			}
		}
	}
	add(page, "stack-run", view)
	return p.log(r, key, rec, page)
}

func runViewOf(key client.ObjectKey, rec run.Record) *runView {
	v := &runView{runRow: runRowOf(key, rec), Started: rec.Started, Revision: rec.Spec.Artifact.Revision, Runner: rec.Runner, StoppedBy: rec.StoppedBy, Waits: rec.Waits}
	if rec.Spec.Plan != nil {
		v.PlanID = rec.Spec.Plan.ID
	}
	result := rec.Result
	if result == nil {
		return v
	}
	v.Ended, v.Finished, v.Error, v.FailedStep, v.Text = true, result.Finished, result.Error, string(result.FailedStep), result.Text
	v.Tool = strings.TrimSpace(result.ToolName + " " + result.ToolVersion)
	v.Warnings, v.Notices, v.Unproven, v.UnprovenMore, v.UnprovenNote = result.Warnings, result.Notices, result.Unproven, result.UnprovenMore, result.UnprovenNote
	if result.Plan != nil {
		v.Drift = result.Plan.Drift
	}
	for _, s := range result.Steps {
		v.Steps = append(v.Steps, step{string(s.Step), s.Started, took(time.Duration(s.Wall)), took(time.Duration(s.CPU)), s.Step == result.FailedStep})
	}
	return v
}

// took is a duration as people read it; empty for none.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
