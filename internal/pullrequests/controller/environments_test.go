// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// noting is a forge that notes statuses.
type noting struct {
	forge.Forge
	set   map[string]forge.Status
	times int
}

func (n *noting) SetStatus(_ context.Context, _ string, s forge.Status) error {
	n.set[s.Name] = s
	n.times++
	return nil
}

// staged is a pull request that changes net, which is in the environment prod.
type staged struct {
	*locking
	o *yubav1.PullRequestPlanner
	p *pull
	f *noting
}

func newStaged(t *testing.T) *staged {
	t.Helper()
	s := &staged{locking: newLocking(t), o: &yubav1.PullRequestPlanner{}, f: &noting{set: map[string]forge.Status{}}}
	s.l.forge, s.p = s.f, s.locking.pull(7)
	s.o.Namespace, s.o.Spec.Feedback.EnvironmentLabel = s.ns, "example.com/stage"
	s.label(t, "net", "prod")
	dns := &infrav1.Terraform{}
	dns.Namespace, dns.Name = s.ns, "dns"
	live, err := s.live(t.Context(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	dns.Spec = live.Spec
	if err := s.Client.Create(t.Context(), dns); err != nil {
		t.Fatal(err)
	}
	s.label(t, "dns", "test")
	s.p.Stacks = []*planned{{Name: s.key, State: comment.Planned, Counts: comment.Counts{Add: 1}}}
	return s
}

func (s *staged) label(t *testing.T, stack, value string) {
	t.Helper()
	live, err := s.live(t.Context(), s.ns+"/"+stack)
	if err != nil {
		t.Fatal(err)
	}
	before := live.DeepCopy()
	live.Labels = map[string]string{"example.com/stage": value}
	if err := s.Client.Patch(t.Context(), live, reconciling.ChangeOf(before)); err != nil {
		t.Fatal(err)
	}
}

// says are the statuses of a commit that are set, in one line.
func (s *staged) says(t *testing.T, change func(*comment.Report)) string {
	t.Helper()
	shown := report(s.o, s.m, s.p)
	if change != nil {
		change(&shown)
	}
	s.f.times = 0
	if err := s.showEnvironments(t.Context(), s.o, s.m, s.l, s.p, s.p.Head, shown); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.f.set)) {
		all = append(all, name+" "+string(s.f.set[name].Result))
	}
	return strings.Join(all, ", ")
}

func TestEachEnvironmentHasAStatus(t *testing.T) {
	s := newStaged(t)
	if got := s.says(t, nil); got != "yuba/prod success, yuba/test success" || s.f.set["yuba/test"].Description != "This pull request changes no stack" {
		t.Errorf("the statuses are %s; %+v", got, s.f.set)
	}
	if s.says(t, nil); s.f.times != 0 {
		t.Errorf("%d statuses are set again", s.f.times)
	}
	// Numbers that change while plans are at work are not worth a request.
	s.p.Stacks[0].State = comment.Running
	if got := s.says(t, nil); got != "yuba/prod pending, yuba/test success" {
		t.Errorf("while it is planned: %s", got)
	}
	s.p.Stacks = append(s.p.Stacks, &stack{Name: s.ns + "/new", State: comment.Waiting, Environment: "prod"})
	if s.says(t, nil); s.f.times != 0 {
		t.Errorf("%d statuses are set while plans are at work", s.f.times)
	}
	s.p.Stacks[0].State, s.p.Stacks[1].State = comment.Planned, comment.Failed
	if got := s.says(t, nil); got != "yuba/prod failure, yuba/test success" {
		t.Errorf("a stack that is created fails: %s", got)
	}
	// A stack whose label the pull request changes is in both environments.
	s.p.Stacks = []*planned{{Name: s.key, State: comment.Failed, Environment: "test"}}
	if got := s.says(t, nil); got != "yuba/prod failure, yuba/test failure" {
		t.Errorf("a stack that moves fails: %s", got)
	}
	s.p.Stacks = nil
	breaking := func(r *comment.Report) {
		r.Consequences = []comment.Consequence{{Name: s.ns + "/dns", Effect: comment.Breaks}}
	}
	if got := s.says(t, breaking); got != "yuba/prod success, yuba/test failure" || !strings.Contains(s.f.set["yuba/test"].Description, "breaks 1 stack behind") {
		t.Errorf("a stack behind breaks: %s %+v", got, s.f.set["yuba/test"])
	}
	problem := func(r *comment.Report) { r.Problems = []comment.Problem{{Summary: "the commit cannot be fetched"}} }
	if got := s.says(t, problem); got != "yuba/prod failure, yuba/test failure" {
		t.Errorf("the pull request cannot be planned: %s", got)
	}
	s.p.Held = "it is from a fork"
	if got := s.says(t, nil); got != "yuba/prod pending, yuba/test pending" {
		t.Errorf("it is held: %s", got)
	}
	// The last stack of an environment is gone: its status does not stay.
	s.p.Held = ""
	s.label(t, "dns", "prod")
	if got := s.says(t, nil); got != "yuba/prod success, yuba/test success" {
		t.Errorf("without an environment: %s", got)
	}
	// Another commit begins anew.
	s.p.Head, s.f.set = strings.Repeat("1", 40), map[string]forge.Status{}
	if got := s.says(t, nil); got != "yuba/prod success" {
		t.Errorf("another commit: %s", got)
	}
}

func TestEnvironmentsAreNamedAsTheirLabel(t *testing.T) {
	o := &yubav1.PullRequestPlanner{}
	o.Spec.Feedback.EnvironmentLabel = "env"
	for value, want := range map[string]string{"prod": "prod", "": "", "../x": "", "a b": "", strings.Repeat("x", 64): ""} {
		if got := environmentIn(o, fmt.Sprintf(`{"metadata": {"labels": {"env": %q}}}`, value)); got != want {
			t.Errorf("the environment of %q is %q", value, got)
		}
	}
	// "apply" is the status that says whether all is applied: no environment replaces it.
	s := newStaged(t)
	s.label(t, "dns", "apply")
	if got := s.says(t, nil); got != "yuba/prod success" {
		t.Errorf("the statuses are %s", got)
	}
	parts := map[string]*comment.Report{"zzz": {Stacks: []comment.Stack{{}}}}
	for i := range 30 {
		parts[fmt.Sprintf("env-%02d", i)] = &comment.Report{}
	}
	if got := (&environments{}).first(parts); len(got) != maxEnvironments || got[0] != "zzz" {
		t.Errorf("of many, %q have a status", got)
	}
}

// TestNewEnvironmentsPushOutNone: a pull request that adds many environments leaves the statuses of the others, and says which
// of its own have none.
func TestNewEnvironmentsPushOutNone(t *testing.T) {
	s := newStaged(t)
	s.label(t, "dns", "apply")
	s.p.Stacks = []*planned{{Name: s.ns + "/dns", State: comment.Planned}}
	for i := range maxEnvironments {
		s.p.Stacks = append(s.p.Stacks, &planned{Name: fmt.Sprintf("%s/new-%02d", s.ns, i), State: comment.Planned, Environment: fmt.Sprintf("a%02d", i)})
	}
	s.says(t, nil)
	if _, ok := s.f.set["yuba/prod"]; !ok {
		t.Errorf("prod has no status: %v", slices.Sorted(maps.Keys(s.f.set)))
	}
	left, err := s.withoutStatus(t.Context(), s.o, s.m, s.l, s.p, report(s.o, s.m, s.p))
	if err != nil || strings.Join(left, " ") != "a18 a19 apply" {
		t.Errorf("without a status: %q, %v", left, err)
	}
	shown := report(s.o, s.m, s.p)
	shown.NoStatus = left
	if text := comment.Render(shown, comment.Style{Limit: 60000}); !strings.Contains(text, "no status of their own") || !strings.Contains(text, "a19") {
		t.Error(text)
	}
}

// TestThePlannerShowsTheStatusesOfEnvironments: those that the forge has at the present commit.
func TestThePlannerShowsTheStatusesOfEnvironments(t *testing.T) {
	s := newStaged(t)
	shown := func() string {
		var all []string
		for _, e := range environmentsIn(s.o, s.p) {
			all = append(all, e.Name+" "+e.Status+" "+e.Result)
		}
		return strings.Join(all, ", ")
	}
	if got := shown(); got != "" {
		t.Errorf("before any status is set: %s", got)
	}
	s.p.Stacks[0].State = comment.Running
	s.says(t, nil)
	if got := shown(); got != "prod yuba/prod pending, test yuba/test success" {
		t.Errorf("while plans are at work: %s", got)
	}
	s.p.Stacks[0].State = comment.Failed
	s.says(t, nil)
	if got := shown(); got != "prod yuba/prod failure, test yuba/test success" {
		t.Errorf("once they have ended: %s", got)
	}
	head := s.p.Now.Head.Commit
	s.p.Now.Head.Commit = strings.Repeat("1", 40)
	if got := shown(); got != "" {
		t.Errorf("after a push: %s", got)
	}
	s.p.Merged = &merged{Commit: head}
	if got := shown(); got == "" {
		t.Error("of a merge commit nothing is shown")
	}
	s.p.Merged, s.p.Now.Head.Commit, s.o.Spec.Feedback.EnvironmentLabel = nil, head, ""
	if got := shown(); got != "" {
		t.Errorf("without environments: %s", got)
	}
	s.o.Spec.Feedback.EnvironmentLabel = "example.com/stage"
	for i := range 2 * maxShownEnvironments {
		s.p.Environments[fmt.Sprintf("env-%03d", i)] = "pending"
	}
	if got := environmentsIn(s.o, s.p); len(got) != maxShownEnvironments {
		t.Errorf("%d are shown", len(got))
	}
}
