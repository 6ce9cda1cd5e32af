// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestHoldsOfARepositoryThatIsNotFollowed(t *testing.T) {
	const identity = "git.example.com/acme/infra"
	for what, c := range map[string]struct {
		m    *memory
		h    infrav1.PullRequestHold
		left bool
	}{
		"it is followed":                       {&memory{followed: []string{"infra"}, links: map[string]*link{"infra": {identity: identity}}}, infrav1.PullRequestHold{Identity: identity}, false},
		"its forge cannot be asked":            {&memory{followed: []string{"infra"}}, infrav1.PullRequestHold{Identity: identity}, false},
		"it is not followed any more":          {&memory{followed: []string{"apps"}}, infrav1.PullRequestHold{Identity: identity}, true},
		"another repository has the name":      {&memory{followed: []string{"infra"}, links: map[string]*link{"infra": {identity: "git.example.com/evil/infra"}}}, infrav1.PullRequestHold{Identity: identity}, true},
		"an older server kept no identity":     {&memory{followed: []string{"infra"}, links: map[string]*link{"infra": {identity: identity}}}, infrav1.PullRequestHold{}, false},
		"the API did not say what is followed": {&memory{unsure: true}, infrav1.PullRequestHold{Identity: identity}, false},
		"it is a hold of another planner":      {&memory{}, infrav1.PullRequestHold{Planner: "other", Identity: identity}, false},
	} {
		c.m.uid, c.h.Repository = "planner", "infra"
		if c.h.Planner == "" {
			c.h.Planner = "planner"
		}
		if got := c.m.left(&c.h); got != c.left {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestAStackIsReleasedWhenItsSourceLeaves: no step is ever made for its pull request.
func TestAStackIsReleasedWhenItsSourceLeaves(t *testing.T) {
	k := newLocking(t)
	if _, err := k.lock(t.Context(), k.m, k.l, k.pull(7), k.key, time.Now()); err != nil {
		t.Fatal(err)
	}
	k.m.followed = []string{"apps"}
	if err := k.findHolds(t.Context(), k.m); err != nil || len(k.m.holds) != 0 {
		t.Fatalf("%v, %v", k.m.holds, err)
	}
	if h := k.hold(t); h == nil || !h.Released {
		t.Errorf("the stack is held as %+v", h)
	}
}

// failing is a reader that cannot list.
type failing struct{ client.Client }

func (failing) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("the API is away")
}

func TestHoldsAreKeptWhenTheyCannotBeRead(t *testing.T) {
	known := map[pullKey][]*infrav1.Terraform{{"infra", 7}: {{}}}
	m := &memory{holds: known}
	if err := (&Reconciler{Client: failing{}}).findHolds(t.Context(), m); err == nil || len(m.holds) != 1 {
		t.Errorf("%v, %v", m.holds, err)
	}
}

func TestThePinsOfADeletedPlannerGo(t *testing.T) {
	k := newLocking(t)
	pin, err := k.pin(t.Context(), k.m, k.l, k.pull(7).Head)
	if err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		err := k.Client.Get(t.Context(), client.ObjectKeyFromObject(pin), &sourcev1.GitRepository{})
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return !apierrors.IsNotFound(err)
	}
	gone := func(uid string) bool { return uid == k.m.uid }
	if err := k.unpinAll(t.Context(), gone); err != nil || !there() {
		t.Errorf("a pin that was just made goes: %v", err)
	}
	k.now = func() time.Time { return time.Now().Add(time.Hour) }
	if err := k.unpinAll(t.Context(), func(string) bool { return false }); err != nil || !there() {
		t.Errorf("the pin of a planner that is there goes: %v", err)
	}
	if err := k.unpinAll(t.Context(), gone); err != nil || there() {
		t.Errorf("the pin stays: %v", err)
	}
}

// missing is a forge that does not find a pull request, or anything.
type missing struct {
	forge.Forge
	all bool
}

func (missing) PullRequest(context.Context, int) (forge.PullRequest, error) {
	return forge.PullRequest{}, &forge.NotFoundError{}
}

func (m missing) Repository(context.Context) (forge.Repository, error) {
	if m.all {
		return forge.Repository{}, &forge.NotFoundError{}
	}
	return forge.Repository{}, nil
}

// TestAForgeThatShowsNothingClosesNothing: a token that lost its access sees no pull request either.
func TestAForgeThatShowsNothingClosesNothing(t *testing.T) {
	r := &Reconciler{}
	for all, want := range map[bool]forge.State{false: forge.Closed, true: forge.Open} {
		p := &pull{Source: "infra", Now: forge.PullRequest{Number: 7, State: forge.Open}}
		err := r.ask(t.Context(), &link{forge: missing{all: all}, source: &sourcev1.GitRepository{}}, p)
		if p.Now.State != want || (err != nil) != all {
			t.Errorf("%v: it is %s, %v", all, p.Now.State, err)
		}
	}
}

// without is a forge without the file CODEOWNERS.
type without struct {
	forge.Forge
	kind forge.Kind
	err  error
}

func (w without) Kind() forge.Kind { return w.kind }

func (without) Limits() forge.Limits { return forge.Limits{Codeowners: []string{"CODEOWNERS"}} }

func (w without) File(context.Context, string, string) ([]byte, error) { return []byte("* @a"), w.err }

// TestOwnersThatAreNotKnown: where an owner must approve, nobody does it who cannot be told from others.
func TestOwnersThatAreNotKnown(t *testing.T) {
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), Owners: func(forge.Kind, string, []byte, []string) ([][]string, error) { return [][]string{{"@a"}}, nil }}
	for what, c := range map[string]struct {
		forge    without
		required bool
		want     string
	}{
		"there is no file":                         {without{kind: forge.GitHub, err: &forge.NotFoundError{}}, true, noOwners},
		"the forge has no files":                   {without{kind: forge.GitHub, err: &forge.UnsupportedError{}}, true, unknownOwners},
		"names are not unique":                     {without{kind: forge.Bitbucket}, true, likeOwners},
		"there is a file":                          {without{kind: forge.GitHub}, true, "@a"},
		"nobody requires owners, without a file":   {without{kind: forge.GitHub, err: &forge.NotFoundError{}}, false, ""},
		"nobody requires owners, and names repeat": {without{kind: forge.Bitbucket}, false, "@a"},
	} {
		o := &yubav1.PullRequestPlanner{}
		o.Spec.Approvals.CodeOwners = c.required
		p := &pull{Stacks: []*stack{{Name: "prod/net", Changed: []string{"main.tf"}}}}
		l := &link{forge: c.forge, planner: o}
		if err := r.own(l, p, &finding{changed: []string{"main.tf"}}, r.codeowners(t.Context(), l, "main", "main@sha1:aaaa")()); err != nil {
			t.Fatal(err)
		}
		got := ""
		if owners := p.Stacks[0].Owners; len(owners) > 0 {
			got = owners[0][0]
		}
		if got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestAnotherTarget: a pull request that is to be merged into another branch is another one.
func TestAnotherTarget(t *testing.T) {
	for what, c := range map[string]struct {
		base  string
		state forge.State
		want  bool
	}{
		"the same branch":                      {"main", forge.Open, true},
		"another branch":                       {"release", forge.Open, false},
		"another branch, and it is merged":     {"release", forge.Merged, true},
		"a record that does not know a branch": {"", forge.Open, false},
	} {
		p := &pull{Head: "head", Found: true, Base: c.base, Stacks: []*stack{{Name: "prod/net"}}, Approvals: []approval{{}},
			Now: forge.PullRequest{State: c.state, Head: forge.End{Commit: "head"}, Base: forge.End{Branch: "main"}}}
		if p.retarget(); p.Found != c.want || len(p.Stacks) > 0 != c.want || len(p.Approvals) > 0 != c.want {
			t.Errorf("%s: it is known: %t", what, p.Found)
		}
	}
}
