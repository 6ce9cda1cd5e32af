// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestALineForEachRun(t *testing.T) {
	ended := time.Date(2026, 3, 1, 15, 4, 5, 0, time.Local)
	started := ended.Add(-2130 * time.Millisecond)
	some := run.Counts{Add: 3, Destroy: 1}
	for want, rec := range map[string]run.Record{
		"applied +3 ~0 -1":                       {Result: &run.Result{Outcome: run.OutcomeSucceeded, Applied: true, AppliedCounts: &some}},
		"destroyed +3 ~0 -1":                     {Spec: run.Spec{Destroy: true}, Result: &run.Result{Outcome: run.OutcomeSucceeded, Applied: true, AppliedCounts: &some}},
		"applied":                                {Result: &run.Result{Outcome: run.OutcomeSucceeded, Applied: true}},
		"planned +3 ~0 -1":                       {Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, Counts: some}}},
		"planned, no changes":                    {Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}},
		"not planned, its modules are unchanged": {Result: &run.Result{Outcome: run.OutcomeSucceeded, SameModules: true}},
		"plan canceled":                          {Spec: run.Spec{Operation: run.OperationPlan}, Result: &run.Result{Outcome: run.OutcomeCanceled}},
		"shell done":                             {Spec: run.Spec{Operation: run.OperationShell}, Result: &run.Result{Outcome: run.OutcomeSucceeded}},
		"console failed": {Spec: run.Spec{Operation: run.OperationState, StateChange: &run.StateChange{Verb: run.StateConsole, Preview: true}},
			Result: &run.Result{Outcome: run.OutcomeFailed, Error: "a value"}},
		"apply failed: no such bucket": {Spec: run.Spec{Operation: run.OperationApply}, Result: &run.Result{Outcome: run.OutcomeFailed, Error: "no such bucket\nmain.tf:3"}},
		"plan failed: " + strings.Repeat("x", maxRunLine) + "…": {Spec: run.Spec{Operation: run.OperationPlan},
			Result: &run.Result{Outcome: run.OutcomeFailed, Error: strings.Repeat("x", 2*maxRunLine)}},
	} {
		rec.Spec.Stack, rec.Started, rec.Result.Finished = run.Stack{Namespace: "default", Name: "vpc"}, &started, ended
		if got, want := runLine(rec), "15:04:05 default/vpc: "+want+" (2.1s)"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	hostile := run.Record{Result: &run.Result{Outcome: run.OutcomeFailed, Error: "\x1b[2J gone"}}
	if got := runLine(hostile); strings.Contains(got, "\x1b") {
		t.Errorf("it clears the terminal: %q", got)
	}
}

func TestWhatIsNotNarrated(t *testing.T) {
	var out bytes.Buffer
	n, quiet := newNarrator(&Common{News: &out}), newNarrator(&Common{News: &out, Quiet: true})
	n.run(run.Record{Quiet: true, Result: &run.Result{Outcome: run.OutcomeSucceeded}})
	quiet.run(run.Record{Result: &run.Result{Outcome: run.OutcomeSucceeded}})
	quiet.say("Starting")
	newNarrator(&Common{}).say("to nobody")
	if out.Len() > 0 || len(n.lines)+len(quiet.lines) > 0 {
		t.Errorf("%s", out.String())
	}
}

// A terminal that was stopped, or a pipe to a program that reads nothing, holds up neither runs nor
// the end of the server.
func TestNobodyReadsWhatIsNarrated(t *testing.T) {
	reader, writer := io.Pipe()
	n := newNarrator(&Common{News: writer})
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan struct{})
	go func() {
		n.tell(ctx)
		close(told)
	}()
	for range 3 * maxLines {
		n.run(run.Record{Result: &run.Result{Outcome: run.OutcomeSucceeded}})
	}
	n.stopping(content.Queue{})
	if len(n.lines) < maxLines-1 { // one may be on its way
		t.Errorf("%d lines wait", len(n.lines))
	}
	late := bufio.NewScanner(reader)
	for range 3 { // among them is what was said last
		if !late.Scan() || !strings.HasSuffix(late.Text(), "planned, no changes") && late.Text() != "Stopping Yuba" {
			t.Errorf("a reader that comes late reads %q, %v", late.Text(), late.Err())
		}
	}
	cancel()
	reader.Close() //nolint:errcheck // it never fails
	<-told
}

func TestWhatIsSaidOfRunsWhenTheServerStops(t *testing.T) {
	at := func(phase string, place int) content.QueueEntry {
		return content.QueueEntry{Namespace: "prod", Name: "vpc", Phase: phase, Place: place}
	}
	for want, items := range map[string][]content.QueueEntry{
		"Stopping Yuba": nil,
		"Stopping Yuba. The runner finishes 1 run without it; the next start records the results: prod/vpc (applying)":                                      {at("applying", 0)},
		"Stopping Yuba. The next start resumes 2 queued runs":                                                                                               {at("", 1), at("", 2)},
		"Stopping Yuba. The runner finishes 1 run without it; the next start records the results: prod/vpc (planning). The next start resumes 1 queued run": {at("planning", 0), at("", 1)},
		"Stopping Yuba. The next start resumes 1 queued run":                                                                                                {at(content.PhasePrepared, 0), at(phaseByHand, 0)},
	} {
		var out bytes.Buffer
		newNarrator(&Common{News: &out}).stopping(content.Queue{Items: items})
		if out.String() != want+"\n" {
			t.Errorf("got  %swant %s", out.String(), want)
		}
	}
	if got := stopWords(make([]string, 12), 0); !strings.HasSuffix(got, "and 2 more") {
		t.Error(got)
	}
}

// Before the page is there, who opens its address is told to wait; probes have their answers.
func TestThePageSaysThatYubaIsStarting(t *testing.T) {
	budget, err := listener.NewBudget()
	if err != nil {
		t.Fatal(err)
	}
	server, l, err := serveWeb("127.0.0.1:0", budget.Share(25), func() string { return "" }, &latePage{}, http.NotFoundHandler(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for path, want := range map[string]int{"/": http.StatusServiceUnavailable, "/stacks": http.StatusServiceUnavailable, "/readyz": http.StatusOK, "/livez": http.StatusOK} {
		response, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != want || want == http.StatusServiceUnavailable && !strings.Contains(string(text), "Yuba is starting") {
			t.Errorf("%s: %d %v\n%s", path, response.StatusCode, err, text)
		}
	}
}
