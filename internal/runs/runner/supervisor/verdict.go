// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// Verdict turns a process's end into an error; nil if its exit code is in good.
func (g *Supervisor) Verdict(c Command, stream *plan.Stream, e process.Exit, good ...int) error {
	name := g.site.Space.Tool.Name + " " + cmp.Or(c.Title, string(c.Step))
	for _, code := range good {
		if code == 2 && !stream.PlanDone && g.Doubt == "" { // a crashed Go program ends with 2, too
			continue
		}
		if e.Signal == 0 && e.Code == code && !e.Held {
			return nil
		}
	}
	outcome := run.OutcomeFailed
	if c.Step == run.StepApply && (e.Signal != 0 || !e.Known) {
		outcome = run.OutcomeInterrupted
	}
	switch {
	case e.Held: // the process could have written there, too
		return &fault.Failure{Class: run.FailureTool, Outcome: outcome, Err: fmt.Errorf("%s has ended, but a program that it started keeps its output open: "+
			"the output cannot be trusted. Find the provider, key provider or external program that leaves a process running", name)}
	case e.Exceeded != "":
		return &fault.Failure{Class: run.FailureLimit, Outcome: outcome, Err: fmt.Errorf("%s was stopped: %s%s", name, e.Exceeded, detail(stream))}
	case e.TimedOut:
		return &fault.Failure{Class: run.FailureLimit, Outcome: outcome, Err: fmt.Errorf("%s took longer than %s and was stopped%s", name, cmp.Or(max(0, c.Timeout), time.Duration(g.run.Spec.Limits.Timeout)), detail(stream))}
	case e.Interrupted != "" && c.Step != run.StepApply:
		return &fault.Failure{Outcome: run.OutcomeCanceled, Err: fmt.Errorf("%s was stopped: %s", name, e.Interrupted)}
	case e.Interrupted != "":
		return &fault.Failure{Class: g.whoseWish(), Outcome: outcome, Err: fmt.Errorf("%s was stopped: %s%s", name, e.Interrupted, detail(stream))}
	case e.Signal != 0:
		return &fault.Failure{Class: run.FailureKilled, Outcome: outcome, Err: fmt.Errorf("%s was killed by signal %d (%s), which Yuba did not send%s", name, int(e.Signal), e.Signal, detail(stream))}
	case len(stream.Errors()) > 0:
		g.run.Result.Lock = lockIn(stream)
		return &fault.Failure{Class: classify(stream), Said: stream.Errors(), Err: errors.New(stream.Errors().Error())}
	case lockIn(stream) != nil:
		g.run.Result.Lock = lockIn(stream)
		return &fault.Failure{Class: run.FailureLocked, Err: fmt.Errorf("%s ended with exit code %d%s", name, e.Code, detail(stream))}
	default:
		return &fault.Failure{Class: run.FailureTool, Printed: summary.Printed(stream.Raw), Err: fmt.Errorf("%s ended with exit code %d%s", name, e.Code, detail(stream))}
	}
}

// whoseWish returns the class of a failure after a request to stop, by its requester.
func (g *Supervisor) whoseWish() run.Failure {
	if g.run.Stop.ByPerson() {
		return run.FailureCanceled
	}
	return ""
}

// classify derives the class of a failure from the structure of the diagnostics.
func classify(stream *plan.Stream) run.Failure {
	if lockIn(stream) != nil {
		return run.FailureLocked
	}
	configuration := true
	for _, d := range stream.Errors() {
		switch d.Summary {
		case summary.StalePlan:
			return run.FailureStalePlan
		case summary.Lock: // locking failed without another holder, for example on a read-only directory
			configuration = false
		}
		// Provider errors have a resource's address; language errors only a position.
		configuration = configuration && d.File != "" && d.Address == ""
	}
	if configuration && !stream.ApplyDone && stream.AppliedTotal == 0 {
		return run.FailureConfiguration
	}
	return ""
}

func detail(stream *plan.Stream) string {
	if text := stream.Errors().Error(); text != "" {
		return ":\n" + text
	}
	if lines := lastWords(stream.Raw); len(lines) > 0 {
		return ":\n" + strings.Join(lines, "\n")
	}
	return ""
}

// aTrace matches the start of a crashed program's stack trace, which follows the cause.
var aTrace = regexp.MustCompile(`^goroutine \d+ \[`)

// lastWords returns the lines that explain why a program ended.
func lastWords(raw []string) []string {
	trace := slices.IndexFunc(raw, aTrace.MatchString)
	if trace < 0 {
		return raw[max(0, len(raw)-10):]
	}
	var cause []string
	for _, line := range slices.Backward(raw[:trace]) {
		if strings.HasPrefix(line, "!!!") || len(cause) == 3 { // the end of tofu's crash notice
			break
		}
		if strings.TrimSpace(line) != "" {
			cause = append([]string{line}, cause...)
		}
	}
	return cause
}
