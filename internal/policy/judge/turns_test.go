// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// "a" asks for namespace a, "a!" for one turn of it at a time, "-a" ends the oldest turn of a, "+5s" lets
// time pass.
func TestTurns(t *testing.T) {
	for sentence, c := range map[string]struct{ steps, want string }{
		"four at a time": {"a b c d e -b e", "a:yes b:yes c:yes d:yes e:no e:yes"},
		"one namespace has all if nobody else wants":  {"a a a a a", "a:yes a:yes a:yes a:yes a:no"},
		"a namespace with slow rules has one":         {"a! a! b a! -a a!", "a!:yes a!:no b:yes a!:no a!:yes"},
		"those that were sent away come first":        {"a a a a b c -a c b", "a:yes a:yes a:yes a:yes b:no c:no c:no b:yes"},
		"the one that had turns waits for the others": {"a a a a a b -a a b", "a:yes a:yes a:yes a:yes a:no b:no a:yes b:no"},
		"and then it is their turn":                   {"a a a a b a -a a b", "a:yes a:yes a:yes a:yes b:no a:no a:no b:yes"},
		"one that cannot go does not hold up others":  {"a! a! b c d e -b e", "a!:yes a!:no b:yes c:yes d:yes e:no e:yes"},
		"one that does not come back loses its place": {"a a a a b -a +5s a", "a:yes a:yes a:yes a:yes b:no a:yes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var turns Turns
			now, held := noon, map[string][]func(){}
			var got []string
			for _, step := range strings.Fields(c.steps) {
				if d, ok := strings.CutPrefix(step, "+"); ok {
					passed, err := time.ParseDuration(d)
					if err != nil {
						t.Fatal(err)
					}
					now = now.Add(passed)
					continue
				}
				if name, ok := strings.CutPrefix(step, "-"); ok {
					held[name][0]()
					held[name] = held[name][1:]
					continue
				}
				name, alone := strings.CutSuffix(step, "!")
				done, ok := turns.Take(name, alone, now)
				answer := "no"
				if ok {
					answer, held[name] = "yes", append(held[name], done)
				}
				got = append(got, step+":"+answer)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARunWaitsForATurn(t *testing.T) {
	var turns Turns
	first, err := turns.Wait(t.Context(), "a", true)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		done, err := turns.Wait(t.Context(), "a", true)
		if err == nil {
			done()
		}
		got <- err
	}()
	first()
	if err := <-got; err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run has ended"))
	done, _ := turns.Take("a", true, time.Now())
	defer done()
	if _, err := turns.Wait(ended, "a", true); err == nil || err.Error() != "the run has ended" {
		t.Error(err)
	}
}

// The rules of all policies have one budget. What was not evaluated holds the plan, and is tried again.
func TestSlowRulesExceedTheBudget(t *testing.T) {
	e := newEvaluator(t)
	var text strings.Builder
	for range 40 {
		text.WriteString("  - rego: {inline: \"package main\\ndeny contains `no` if count([1 | some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); a + b < 0]) == 1\"}\n")
	}
	text.WriteString("  - cel: facts.counts.total.create < 5\n")
	limited, done := BindTo(policyOf(t, e, text.String())).within(t.Context(), time.Second)
	defer done()
	d := limited.Plan(Subject{Namespace: "team-a", Name: "net"}, "uid", facts.Inputs{Stage: facts.StagePlan, Show: []byte(shownPlan)}, noon)
	if Opinion(d) != Held || len(d.Violations) != 41 {
		t.Fatalf("%s: %s (%d)", Opinion(d), d.Message, len(d.Violations))
	}
	for _, v := range d.Violations {
		if !v.Problem || !strings.Contains(v.Message, "took more than 1s together, so this one was not evaluated. Yuba tries again in 2m0s") {
			t.Errorf("%+v", v)
		}
	}
	if !d.RetryAt.Equal(noon.Add(budgetRetry)) {
		t.Errorf("it is tried again at %s", d.RetryAt)
	}
}

// A question whose asker has gone ends, and uses no process that plans wait for.
func TestQuestionsUseProcessesOfTheirOwn(t *testing.T) {
	e := newEvaluator(t)
	other := newEvaluator(t)
	e.Engine = rego.NewEngine(func(string) (string, error) { return "", errors.New("the judge's own process") })
	binding := BindTo(policyOf(t, e, "  - rego: {inline: \"package main\\ndeny contains `no` if true\"}\n"))
	in := facts.Inputs{Stage: facts.StagePlan, Show: []byte(shownPlan)}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{
		{t.Context(), "the judge's own process"},
		{other.Aside(t.Context()), "rego-1: no"},
		{other.Aside(ended), "context canceled"},
	} {
		before, after := Compare(c.ctx, binding, binding, Subject{Namespace: "team-a", Name: "net"}, "uid", in, noon)
		if !strings.Contains(before.Message, c.want) || after.Message != before.Message {
			t.Errorf("%s, %s; want %s", before.Message, after.Message, c.want)
		}
	}
}

func TestOnlyCustomRulesOfANamespaceAreSlow(t *testing.T) {
	custom := yubav1.PolicyRule{CEL: "facts.counts.total.create < 5"}
	policyIn := func(name string, list ...yubav1.PolicyRule) *policy {
		return prepare(name, nil, &yubav1.PolicySpec{Rules: list}, nil)
	}
	for sentence, c := range map[string]struct {
		policies []*policy
		want     bool
	}{
		"none":                          {nil, false},
		"built-in rules of a namespace": {[]*policy{policyIn("Policy/a/x", yubav1.PolicyRule{Builtin: "no-iam"})}, false},
		"custom rules of the cluster":   {[]*policy{policyIn("ClusterPolicy/x", custom)}, false},
		"custom rules of a namespace":   {[]*policy{policyIn("ClusterPolicy/x"), policyIn("Policy/a/x", custom)}, true},
	} {
		if got := (&Binding{policies: c.policies}).Slow(); got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}

// A policy that was made anew under its name is another one, and memory has one of each name.
func TestPoliciesAreRememberedByName(t *testing.T) {
	j := &Judge{}
	obj := &yubav1.Policy{}
	obj.Namespace, obj.Name, obj.UID, obj.Generation = "a", "own", "uid-1", 1
	first := j.ofNamespace(obj)
	if j.ofNamespace(obj) != first {
		t.Error("it is prepared twice")
	}
	again := obj.DeepCopy()
	again.UID, again.Spec.Rules = "uid-2", []yubav1.PolicyRule{{Builtin: "no-iam"}}
	if second := j.ofNamespace(again); second == first || len(second.rules) != 1 {
		t.Error("the policy of that name before is in force")
	}
	count := 0
	j.prepared.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d policies are remembered", count)
	}
}
