// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func TestProblemsOfALog(t *testing.T) {
	const failure = `{"@level":"error","@message":"Error: Unsupported","type":"diagnostic","diagnostic":{"severity":"error","summary":"Unsupported","detail":"It is.","range":{"filename":"net/main.tf","start":{"line":3,"column":5}},"snippet":{"code":"x","start_line":3}}}` + "\n"
	const warning = `{"@level":"warn","@message":"Warning: Old","type":"diagnostic","diagnostic":{"severity":"warning","summary":"Old"}}` + "\n"
	log := "not JSON\n" + failure + warning + `{"@level":"info","@message":"Plan: 1 to add","type":"change_summary"}` + "\n" + failure + `{"type":"diagnostic"` + "\n"
	want := diagnostic.List{{Severity: diagnostic.Error, Summary: "Unsupported", Detail: "It is.", File: "net/main.tf", Line: 3, Column: 5},
		{Severity: diagnostic.Warning, Summary: "Old"}}
	if diff := cmp.Diff(want, problemsOf([]byte(log))); diff != "" {
		t.Error(diff)
	}
	many := ""
	for i := range 2 * maxProblems {
		many += strings.Replace(warning, "Old", "Old "+strings.Repeat("x", i), 2)
	}
	if got := len(problemsOf([]byte(many))); got != maxProblems {
		t.Errorf("%d problems are kept", got)
	}
}

func TestALongLogIsCutAtALine(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"1234\n":             "1234\n",
		"1234\n567890":       "1234\n567890",
		"1234\n5678\nabcd\n": "1234\n5678\nThe log is longer: it is not shown here.\n",
		"1234567890123":      "The log is longer: it is not shown here.\n",
	} {
		l := &limited{limit: 12}
		for i := range in {
			if n, err := l.Write([]byte(in[i : i+1])); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := string(l.lines()); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDetailsAreForWhoAskedForThem(t *testing.T) {
	owner := run.Stack{Namespace: "t", Name: "net", UID: "1"}
	over := make(chan struct{})
	close(over)
	d := &Desk{byID: map[string]*entry{
		"detailed": {owner: owner, by: "alice", detailed: true, ended: over, details: details{log: []byte("log\n"), document: []byte("{}")}},
		"failed":   {owner: owner, by: "alice", detailed: true, ended: over, details: details{log: []byte("log\n")}},
		"dropped":  {owner: owner, by: "alice", detailed: true, ended: over, details: details{dropped: true}},
		"plain":    {owner: owner, by: "alice", ended: over},
	}}
	for sentence, c := range map[string]struct {
		owner             run.Stack
		id, by            string
		document, log     string
		forbidden, absent bool
	}{
		"the user who asked":         {owner, "detailed", "alice", "{}", "log\n", false, false},
		"another user":               {owner, "detailed", "bob", "", "", true, false},
		"of another stack":           {run.Stack{Namespace: "t", Name: "net", UID: "2"}, "detailed", "alice", "", "", false, true},
		"without a plan":             {owner, "failed", "alice", "", "log\n", false, false},
		"no details were asked for":  {owner, "plain", "alice", "", "", false, true},
		"one that nobody knows":      {owner, "other", "alice", "", "", false, true},
		"there was no memory for it": {owner, "dropped", "alice", "", "", false, false},
	} {
		document, err := d.Document(c.owner, c.id, c.by)
		var log bytes.Buffer
		logErr := d.WriteLog(t.Context(), c.owner, c.id, c.by, &log)
		if string(document) != c.document || log.String() != c.log || (err == nil) != (c.document != "") || (logErr == nil) != (c.log != "") {
			t.Errorf("%s: %q %v, %q %v", sentence, document, err, log.String(), logErr)
		}
		var refused *run.RefusedError
		if forbidden := errors.As(logErr, &refused) && refused.Forbidden; forbidden != c.forbidden {
			t.Errorf("%s: forbidden is %v", sentence, forbidden)
		}
		if absent := errors.Is(logErr, run.ErrNotFound); absent != c.absent {
			t.Errorf("%s: absent is %v", sentence, absent)
		}
	}
}

func TestARefusalByPoliciesIsAnAnswer(t *testing.T) {
	byPolicy := &run.RefusedError{Forbidden: true, Policy: true, Message: "no external data"}
	e := &entry{detailed: true}
	a, err := e.undrafted(byPolicy)
	if err != nil || !a.Ended || !a.Policy.Refused() || a.Result() != ResultFailed || a.Error != "no external data" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := (&entry{}).undrafted(byPolicy); !errors.Is(err, byPolicy) {
		t.Errorf("without details: %v", err)
	}
	if _, err := (&entry{detailed: true}).undrafted(&run.RefusedError{Message: "locked"}); err == nil {
		t.Error("another refusal is an answer")
	}
	if a, err := (&entry{}).undrafted(&UnknownError{Needs: []Need{{Stack: "t/net", Input: "x"}}}); err != nil || a.Result() != ResultUnknown {
		t.Errorf("unknown inputs: %+v, %v", a, err)
	}
}

// executed is an executor whose runs end with a change as soon as they start.
type executed struct {
	Executor
	recs map[run.Stack]run.Record
}

func (executed) Prepare(context.Context, run.Record) error { return nil }

func (x executed) Start(_ context.Context, rec run.Record) error {
	rec.Result = &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}}
	x.recs[rec.Spec.Stack] = rec
	return nil
}

func (x executed) TakeEnded(stack run.Stack) (run.Record, bool) { return x.recs[stack], true }

func (executed) ReadPlan(context.Context, run.Stack, string) ([]byte, error) {
	return nil, run.ErrNotFound
}

func (executed) WriteLog(context.Context, run.Stack, string, bool, io.Writer) error { return nil }
func (executed) Recorded(run.Stack, string)                                         {}
func (executed) Forget(run.Stack)                                                   {}

func TestPoliciesJudgeTheManifestOfTheRequest(t *testing.T) {
	owner := run.Stack{Namespace: "t", Name: "net"}
	judged := map[string]string{}
	d := &Desk{Executor: executed{recs: map[run.Stack]run.Record{}},
		Draft: func(_ context.Context, stack run.Stack, r Request) (*run.Record, error) {
			rec := &run.Record{}
			rec.Spec.ID, rec.Spec.Stack = r.Trigger, run.Stack{Namespace: stack.Namespace, Name: stack.Name + Mark + r.Trigger}
			return rec, nil
		},
		Prune: func(context.Context, run.Stack) error { return nil },
		Judge: func(_ context.Context, stack run.Stack, rec run.Record, manifest []byte) (*Verdict, error) {
			judged[rec.Spec.ID] = stack.Name + " as " + string(manifest)
			return nil, nil
		}}
	want := map[string]string{"pull1": "net as one", "pull2": "net as two", "try": "net as "}
	for id, manifest := range map[string]string{"pull1": "one", "pull2": "two", "try": ""} { // all are at work at once
		if _, err := d.Start(t.Context(), owner, Request{Trigger: id, Detailed: true, Manifest: []byte(manifest)}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range want {
		d.Over(run.Stack{Namespace: "t", Name: "net" + Mark + id})
	}
	if diff := cmp.Diff(want, judged); diff != "" {
		t.Error(diff)
	}
}
