// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/github"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/forgefake"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// aftermath is a merged pull request of one stack of the API, at a forge.
type aftermath struct {
	r     *Reconciler
	o     *yubav1.PullRequestPlanner
	m     *memory
	l     *link
	p     *pull
	api   client.Client
	stack *infrav1.Terraform
	now   time.Time
}

func newAftermath(t *testing.T) *aftermath {
	t.Helper()
	server := forgefake.GitHub(t)
	f, err := github.Open(server.Config(t, forgetest.Full))
	if err != nil {
		t.Fatal(err)
	}
	n := server.Create(t, forgetest.Simple("merged"))
	a := &aftermath{api: apitest.Client(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	a.stack = &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(t), Name: "network"}}
	a.stack.Spec.Interval.Duration = time.Hour
	a.stack.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "infra"}
	if err := a.api.Create(t.Context(), a.stack); err != nil {
		t.Fatal(err)
	}
	commit := server.Merge(t, n)
	now, err := f.PullRequest(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	a.r = &Reconciler{Client: a.api, Log: slog.New(slog.DiscardHandler), Store: records{}, now: func() time.Time { return a.now }, ctx: t.Context()}
	a.o = &yubav1.PullRequestPlanner{}
	a.l = &link{name: "infra", forge: f, source: &sourcev1.GitRepository{}}
	a.m = &memory{uid: "u", links: map[string]*link{"infra": a.l}, pulls: map[pullKey]*pull{}}
	a.p = &pull{Source: "infra", Now: now, Head: now.Head.Commit, Found: true, Stacks: []*stack{{Name: a.stack.Namespace + "/network", State: comment.Planned, Counts: comment.Counts{Add: 1}, Text: "+ a", Digest: "d"}},
		Merged: &merged{At: a.now, Commit: commit}}
	a.m.pulls[a.p.key()] = a.p
	return a
}

// is gives the stack a condition, at the merge commit.
func (a *aftermath) is(t *testing.T, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	a.stack.Status.LastAttemptedRevision = "main@sha1:" + a.p.Merged.Commit
	a.stack.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
	if err := a.api.Status().Update(t.Context(), a.stack); err != nil {
		t.Fatal(err)
	}
}

// pass makes a pass over the pull request, and returns the status of the stack, that of all, and our comment.
func (a *aftermath) pass(t *testing.T) (one, all forge.Status, c forge.Comment) {
	t.Helper()
	if err := a.r.merge(t.Context(), a.o, a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
	statuses, err := a.l.forge.Statuses(t.Context(), a.p.Merged.Commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statuses {
		switch s.Name {
		case "yuba/" + a.stack.Namespace + "/network":
			one = s
		case "yuba":
			all = s
		}
	}
	comments, err := a.l.forge.Comments(t.Context(), a.p.Now.Number, time.Time{})
	if err != nil || len(comments) > 1 {
		t.Fatal(len(comments), err)
	}
	if len(comments) == 1 {
		c = comments[0]
	}
	return one, all, c
}

// TestResultsAreBesideTheMergeCommit follows a stack from a failed apply to drift.
func TestResultsAreBesideTheMergeCommit(t *testing.T) {
	a := newAftermath(t)
	if one, _, c := a.pass(t); one.Name != "" || !strings.Contains(c.Text, "waits for the plan") && !strings.Contains(c.Text, "planning") {
		t.Errorf("before there is a result: %+v in %s", one, c.Text)
	}
	a.is(t, metav1.ConditionFalse, infrav1.ReasonApplyFailed, "error creating vpc: quota")
	if one, all, c := a.pass(t); one.Result != forge.Failure || !strings.Contains(one.Description, "quota") || all.Result != forge.Failure || !strings.Contains(c.Text, "quota") {
		t.Errorf("after a failure: %+v and %+v in %s", one, all, c.Text)
	}
	if a.p.watched() {
		t.Error("a failure ends it")
	}
	a.stack.Status.LastAppliedRevision = "main@sha1:" + a.p.Merged.Commit
	a.is(t, metav1.ConditionTrue, infrav1.ReasonApplied, "applied")
	if one, all, _ := a.pass(t); one.Result != forge.Success || one.Description != "applied: 1 to add" || all.Result != forge.Success {
		t.Errorf("after the apply: %+v and %+v", one, all)
	}
	settle(a.o, a.m, nil)
	if !a.p.watched() || len(a.o.Status.PullRequests) > 0 {
		t.Errorf("it is not over: %+v", a.o.Status.PullRequests)
	}
	a.stack.Status.Plan.Summary = "+0 ~1 -0"
	a.is(t, metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")
	one, all, c := a.pass(t)
	if one.Result != forge.Failure || !strings.Contains(one.Description, "drifted") || !strings.Contains(one.Description, "+0 ~1 -0") || all.Result != forge.Failure || !strings.Contains(c.Text, "**drifted**") {
		t.Errorf("after drift: %+v and %+v in %s", one, all, c.Text)
	}
	settle(a.o, a.m, nil)
	if len(a.o.Status.PullRequests) != 1 || a.o.Status.PullRequests[0].State != yubav1.PullRequestDrifted {
		t.Errorf("the status has %+v", a.o.Status.PullRequests)
	}
	// A check at work decides nothing, and one that finds the same says nothing.
	a.is(t, metav1.ConditionUnknown, infrav1.ReasonProgressing, "")
	a.pass(t)
	a.is(t, metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected again.")
	if _, _, again := a.pass(t); !again.Updated.Equal(c.Updated) || again.Text != c.Text {
		t.Errorf("drift is stated again: %s", again.Text)
	}
	a.is(t, metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift")
	if one, all, c := a.pass(t); one.Result != forge.Success || all.Result != forge.Success || strings.Contains(c.Text, "drifted") {
		t.Errorf("after the drift: %+v and %+v in %s", one, all, c.Text)
	}
	a.now = a.now.Add(watchPatience + time.Hour)
	if a.pass(t); len(a.m.pulls) > 0 {
		t.Error("it is watched for ever")
	}
}

// TestDriftBelongsToTheLastPullRequest: a later one that changed the stack is told instead.
func TestDriftBelongsToTheLastPullRequest(t *testing.T) {
	a := newAftermath(t)
	a.stack.Status.LastAppliedRevision = "main@sha1:" + a.p.Merged.Commit
	a.is(t, metav1.ConditionTrue, infrav1.ReasonApplied, "applied")
	a.pass(t)
	a.m.remember()
	memories := memories{}
	memories.add(a.m)
	if got := memories.awaiting(a.p.Stacks[0].Name, false, true); len(got) > 0 {
		t.Error("a stack without news wakes the planner")
	}
	if got := memories.awaiting(a.p.Stacks[0].Name, true, true); len(got) != 1 {
		t.Error("drift does not wake the planner")
	}
	later := &pull{Source: "infra", Now: forge.PullRequest{Number: 99, State: forge.Merged}, Stacks: []*stack{{Name: a.p.Stacks[0].Name}}, Merged: &merged{At: a.now.Add(time.Minute)}}
	a.m.pulls[later.key()] = later
	a.is(t, metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")
	a.pass(t)
	if a.m.pulls[a.p.key()] != nil {
		t.Error("a pull request whose stacks others have changed since is watched")
	}
}

func TestStatusesOfManyStacks(t *testing.T) {
	var stacks []*stack
	for i := range 50 {
		stacks = append(stacks, &stack{Name: "p/s" + strings.Repeat("x", i), State: comment.Applied})
	}
	stacks[40].State, stacks[45].State = comment.Failed, comment.Running
	got := firstResults(stacks)
	if len(got) != maxStackStatuses || got[0] != stacks[40] {
		t.Errorf("%d statuses, the first one of %s", len(got), got[0].Name)
	}
}
