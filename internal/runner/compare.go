// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

// compareWithWorld plans once more and refuses the saved plan when a plan made now would mean something else. The
// saved plan itself is what is applied.
func (j *job) compareWithWorld(ctx context.Context) error {
	if err := j.fetchPlan(ctx); err != nil {
		return err
	}
	second := filepath.Join(j.space.base, planDir, "now")
	c, err := j.planCommand(second)
	if err != nil {
		return err
	}
	stream, e, err := j.tofu(ctx, c)
	if err != nil {
		return err
	}
	if err := j.verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	approved, err := j.meaning(ctx, j.space.planPath())
	if err != nil {
		return err
	}
	now, err := j.meaning(ctx, second)
	if err != nil {
		return err
	}
	if approved != now {
		return failed(run.FailureStalePlan, "apply plan %s: the world has changed since it was made, and a plan made now would do something else. A new plan is needed", j.spec.Plan.ID)
	}
	return nil
}

// meaning is the digest of what a plan changes.
func (j *job) meaning(ctx context.Context, path string) (string, error) {
	text, err := j.showPlan(ctx, path)
	if err != nil {
		return "", err
	}
	_, digest, err := plan.Describe(text)
	if err != nil {
		return "", failed("", "read the plan: %w", err)
	}
	return digest, nil
}

// staleSummary is the summary of the diagnostic that tofu and terraform give for a plan whose state has moved.
const staleSummary = "Saved plan is stale"

// lockSummary is theirs for a state that somebody else has locked.
const lockSummary = "Error acquiring the state lock"

// lockField finds the lines of a lock that the tool describes.
var lockField = regexp.MustCompile(`(?m)^\s+(ID|Operation|Who|Created): +(.*\S)`)

// lockIn reads the lock that was in the way; nil when no error tells of one.
func lockIn(stream *plan.Stream) *run.Lock {
	for _, d := range stream.Errors() {
		_, info, found := strings.Cut(d.Detail, "Lock Info:")
		if d.Summary != lockSummary || !found {
			continue
		}
		lock := &run.Lock{}
		for _, field := range lockField.FindAllStringSubmatch(info, -1) {
			switch field[1] {
			case "ID":
				lock.ID = field[2]
			case "Operation":
				lock.Operation = field[2]
			case "Who":
				lock.Who = field[2]
			case "Created":
				lock.Created, _ = time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", field[2]) // a tool may write it otherwise
			}
		}
		if lock.ID != "" {
			return lock
		}
	}
	return nil
}

// classify tells kinds of failures apart, by what the diagnostics carry and not by their prose.
func classify(stream *plan.Stream) run.Failure {
	configuration := true
	for _, d := range stream.Errors() {
		switch d.Summary {
		case staleSummary:
			return run.FailureStalePlan
		case lockSummary:
			// A lock that cannot be taken for another reason, such as a directory that cannot be written, is nobody's.
			if lockIn(stream) != nil {
				return run.FailureLocked
			}
			configuration = false
		}
		// An error of a provider names the resource it is about; one of the language only a place.
		configuration = configuration && d.File != "" && d.Address == ""
	}
	if configuration && !stream.ApplyDone && stream.AppliedTotal == 0 {
		return run.FailureConfiguration
	}
	return ""
}
