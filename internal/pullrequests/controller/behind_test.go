// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// foreseen answers questions, and notes them.
type foreseen struct {
	compared, planned []Question
	fails             error
}

func (f *foreseen) Foresee(_ context.Context, q Question) (Consequences, error) {
	f.compared = append(f.compared, q)
	return Consequences{List: []comment.Consequence{{Name: "prod/app", Level: 1, Effect: comment.Runs}, {Name: "prod/edge", Level: 1, Effect: comment.Breaks, Because: []string{"it reads base.vpc, which is missing"}}}, More: 1}, nil
}

func (f *foreseen) PlanBehind(_ context.Context, q Question, _ *Source, _ string) (Consequences, error) {
	f.planned = append(f.planned, q)
	return Consequences{List: []comment.Consequence{{Name: "prod/app", Level: 1, Effect: comment.Changes, Counts: comment.Counts{Change: 1}, Changes: strings.Repeat("~ a\n", maxBehindText)}}}, f.fails
}

// Head implements Sources.
func (fetched) Head(context.Context, *sourcev1.GitRepository, forge.PullRequest) (*Source, error) {
	return &Source{Close: func(context.Context) {}}, nil
}

type lookout struct {
	*foreseen
	r *Reconciler
	o *yubav1.PullRequestPlanner
	m *memory
	p *pull
}

func newLookout(when string) *lookout {
	w := &lookout{foreseen: &foreseen{}, o: &yubav1.PullRequestPlanner{}, m: &memory{name: types.NamespacedName{Namespace: "prod", Name: "prs"}, pulls: map[pullKey]*pull{}}}
	w.o.Namespace, w.o.Spec.Impact = "prod", yubav1.PullRequestImpactSpec{When: when, Levels: 3}
	w.r = &Reconciler{Impact: w.foreseen, Sources: fetched{}, Log: slog.New(slog.DiscardHandler), now: time.Now, ctx: context.Background(), woken: make(chan event.GenericEvent, 10)}
	w.p = &pull{Source: "infra", Head: "h", Found: true, Now: forge.PullRequest{Number: 7, Head: forge.End{Commit: "h"}}, Stacks: []*stack{
		{Name: "prod/network", State: comment.Planned, Digest: "d1", Reads: Outputs{Changed: []plan.OutputValueChange{{Name: "base"}}}}, {Name: "prod/broken", State: comment.Failed}}}
	w.m.pulls[w.p.key()] = w.p
	return w
}

// look makes a pass, and takes what the plans behind have come to.
func (w *lookout) look(t *testing.T) {
	t.Helper()
	w.lookAt(t, &link{})
}

func (w *lookout) lookAt(t *testing.T, l *link) {
	t.Helper()
	if err := w.r.lookBehind(t.Context(), w.o, w.m, l, w.p); err != nil {
		t.Fatal(err)
	}
	if w.p.Behind == nil || !w.p.Behind.Busy {
		return
	}
	select {
	case <-w.r.woken:
	case <-time.After(30 * time.Second):
		t.Fatal("the plans behind do not end")
	}
	_, ended := w.m.news()
	for _, e := range ended {
		w.m.take(e)
	}
}

func TestTheStacksBehind(t *testing.T) {
	for sentence, c := range map[string]struct {
		when              string
		asked             bool
		change            func(p *pull)
		compared, planned int
	}{
		"by default they are compared":                    {when: yubav1.ImpactBreaking, compared: 1},
		"a planner of before the field":                   {when: "", compared: 1},
		"always they are planned":                         {when: yubav1.ImpactAlways, compared: 1, planned: 1},
		"never":                                           {when: yubav1.ImpactNever},
		"never, but somebody asks":                        {when: yubav1.ImpactNever, asked: true, compared: 1, planned: 1},
		"no output changes":                               {when: yubav1.ImpactAlways, change: func(p *pull) { p.Stacks[0].Reads = Outputs{} }},
		"a contract breaks because nothing is published":  {when: "", change: func(p *pull) { p.Stacks[0].Reads = Outputs{Broken: []Broken{{"prod/app", "x"}}} }, compared: 1},
		"the outputs are too large to be compared":        {when: "", change: func(p *pull) { p.Stacks[0].Reads = Outputs{TooLarge: true} }, compared: 1},
		"what was not planned has no planned outputs yet": {when: "", change: func(p *pull) { p.Stacks[0].State = comment.Failed }},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newLookout(c.when)
			w.p.Asked = c.asked
			if c.change != nil {
				c.change(w.p)
			}
			w.look(t)
			w.look(t) // nothing has changed
			if len(w.compared) != c.compared || len(w.planned) != c.planned {
				t.Errorf("compared %d times, planned %d times", len(w.compared), len(w.planned))
			}
			if b := w.p.Behind; c.planned > 0 && (b.Busy || len(b.List) != 1 || b.List[0].Effect != comment.Changes || len(b.List[0].Changes) > 2*maxBehindText) {
				t.Errorf("it is %+v", b)
			}
		})
	}
}

func TestTheStacksBehindFollowThePlans(t *testing.T) {
	w := newLookout("")
	w.o.Spec.Impact = yubav1.PullRequestImpactSpec{} // as the API leaves it
	w.look(t)
	w.p.Stacks[0].Digest = "d2"
	w.look(t)
	if len(w.compared) != 2 || w.compared[1].Stacks[0].Digest != "d2" || w.compared[1].Levels != 3 || len(w.compared[1].Stacks) != 1 {
		t.Errorf("the questions are %+v", w.compared)
	}
	if answer, ok := w.p.command(forge.User{Name: "alice"}, time.Now(), command.Command{Verb: command.Impact}); !ok || answer != "" {
		t.Errorf("the command says %q", answer)
	}
	w.look(t)
	if len(w.planned) != 1 {
		t.Error("the command plans nothing")
	}
	// Another server knows what was planned, and plans it again only if it was not.
	data, err := w.p.encode()
	if err != nil {
		t.Fatal(err)
	}
	again := &pull{}
	if err := json.Unmarshal(data, again); err != nil {
		t.Fatal(err)
	}
	w.p = again
	if w.look(t); len(w.planned) != 1 {
		t.Error("it is planned again")
	}
	w.p.Behind.Busy = true
	if w.look(t); len(w.planned) != 2 {
		t.Error("what a former server has not finished is not planned")
	}
	w.p.clear()
	if w.p.Asked || w.p.Behind != nil {
		t.Error("another head has what the former one had")
	}
}

func TestFailuresBehindAreShown(t *testing.T) {
	w := newLookout(yubav1.ImpactAlways)
	w.fails = errors.New("plan prod/network: out of luck")
	w.look(t)
	shown := report(w.o, w.m, w.p)
	if !strings.Contains(shown.BehindNote, "out of luck") || len(shown.Consequences) != 2 {
		t.Errorf("shown are %+v", shown)
	}
}

func TestTheStacksBehindInTheStatus(t *testing.T) {
	w := newLookout("")
	w.look(t)
	settle(w.o, w.m, nil)
	w.p.Now.State = forge.Open
	settle(w.o, w.m, nil)
	got := w.o.Status.PullRequests[0]
	if len(got.Behind) != 2 || got.Behind[0].Name != "prod/edge" || got.Behind[0].Effect != "breaks" || !strings.Contains(got.Behind[0].Message, "base.vpc") || got.MoreBehind != 1 {
		t.Errorf("the status has %+v", got)
	}
	for n := range 20 {
		p := &pull{Source: "infra", Now: forge.PullRequest{Number: 100 + n, State: forge.Open}, Behind: &behind{}}
		for range maxBehind {
			p.Behind.List = append(p.Behind.List, comment.Consequence{Name: "prod/x", Effect: comment.Runs})
		}
		w.m.pulls[p.key()] = p
	}
	settle(w.o, w.m, nil)
	all := 0
	for _, p := range w.o.Status.PullRequests {
		if all += len(p.Behind); len(p.Behind) > maxBehindOne {
			t.Errorf("pull request %d has %d", p.Number, len(p.Behind))
		}
	}
	if all > maxBehindAll {
		t.Errorf("the status has %d", all)
	}
}
