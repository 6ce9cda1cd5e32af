// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// The facts of a configuration stay until it changes, and are judged in each pass.
func TestErrorsAndResultsOfTheClockDoNotStayWithTheConfiguration(t *testing.T) {
	tree := module.ReadTree(func(string) (map[string][]byte, string) {
		return map[string][]byte{"main.tf": []byte(`resource "terraform_data" "x" {}`)}, ""
	}, ".", nil)
	begin := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for sentence, c := range map[string]struct {
		rule   string
		broken bool
		want   [3]decide.Outcome
		ends   bool
	}{
		// 10:00 of that day.
		"a rule that reads the time": {"deny contains `freeze` if time.now_ns() < 1795773600000000000", false, [3]decide.Outcome{decide.OutcomeRefuse, decide.OutcomeRefuse, decide.OutcomeApply}, true},
		"a rule that failed once":    {"deny contains `no` if false", true, [3]decide.Outcome{decide.OutcomeRefuse, decide.OutcomeRefuse, decide.OutcomeApply}, true},
		"a rule that always denies":  {"deny contains `no` if true", false, [3]decide.Outcome{decide.OutcomeRefuse, decide.OutcomeRefuse, decide.OutcomeRefuse}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			e := newEvaluator(t)
			broken := c.broken
			e.Engine = rego.NewEngine(func(name string) (string, error) {
				if broken {
					return "", errors.New("there is no process left")
				}
				return filepath.Join(programs, name), nil
			})
			t.Cleanup(func() { e.Engine.Close() })
			document, err := facts.Build(facts.Inputs{Stage: facts.StagePrePlan, Declared: tree})
			if err != nil {
				t.Fatal(err)
			}
			b := BindTo(policyOf(t, e, "  - {onViolation: deny, rego: {inline: \"package main\\n"+c.rule+"\"}}\n  stages: [prePlan]"))
			for i, at := range []time.Time{begin, begin.Add(time.Minute), begin.Add(2 * time.Hour)} {
				if i == 2 {
					broken = false
				}
				d := b.Configuration(subject, document, nil, at)
				if d.Outcome != c.want[i] {
					t.Errorf("at %s: %s: %s", at, d.Outcome, d.Message)
				}
				if ends := d.ValidUntil.After(at) || d.RetryAt.After(at); d.Outcome == decide.OutcomeRefuse && ends != c.ends {
					t.Errorf("at %s: it ends: %t (%s, %s)", at, ends, d.ValidUntil, d.RetryAt)
				}
			}
		})
	}
}
