// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProbesCloseACircuit(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 12)
	if c := f.mustOpen(); c.ProbeAt != f.now.Add(30*time.Second) {
		t.Errorf("the first probe is at %s", c.ProbeAt)
	}
	if wake := f.tick(29 * time.Second); wake != nil {
		t.Errorf("%v are probed too early", wake)
	}
	first := f.probe()
	if wake := f.tick(time.Second); wake != nil {
		t.Errorf("%v are probed beside the first", wake)
	}
	f.fine(first)
	if c := f.mustOpen(); c.State != HalfOpen {
		t.Errorf("after one success it is %s", c.State)
	}
	second := f.probe()
	if second == first {
		t.Error("the same stack is probed again")
	}
	f.fine(second)
	if f.open() != nil {
		t.Fatal("it is still open")
	}
	if c := f.book.Circuits()[0]; c.State != Closed || c.ClosedAt != f.now || c.Failing() != 10 {
		t.Errorf("%s at %s with %d members", c.State, c.ClosedAt, c.Failing())
	}
}

func TestPausesBetweenProbesGrow(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 6)
	var pauses []time.Duration
	probed := map[Stack]bool{}
	for range 6 {
		pauses = append(pauses, f.mustOpen().ProbeAt.Sub(f.now))
		s := f.probe()
		probed[s] = true
		f.after(time.Second).fails(s, unavailable)
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if len(probed) != 6 {
		t.Errorf("%d stacks took turns, want 6", len(probed))
	}
}

func TestTheCheapestIsProbedFirst(t *testing.T) {
	f := newFleet(t)
	each("a", 0, 6, func(s Stack) {
		f.fails(s, unavailable, func(e *Ended) {
			if e.Cost = time.Minute; s.Name == "s005" {
				e.Cost = time.Second
			}
		})
	})
	// Stacks from before the opening have the costs of their next failure.
	if s := f.probe(); s.Name != "s000" && s.Name != "s005" {
		t.Errorf("%s is probed", s)
	}
}

func TestAFailureBetweenProbesBeginsAnew(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 6)
	f.fine(f.probe())
	f.failing("a", 10, 11)
	if c := f.mustOpen(); c.State != Open {
		t.Fatalf("it is %s", c.State)
	}
	f.fine(f.probe())
	if c := f.mustOpen(); c.State != HalfOpen {
		t.Errorf("one success after that made it %s", c.State)
	}
}

func TestAPersonsSuccessIsAProbe(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 6)
	f.fine(stackNo("a", 3))
	f.fine(stackNo("a", 4))
	if f.open() != nil {
		t.Error("two members succeeded, and it is open")
	}
}

func TestWhoCannotBeProbedIsPassedOver(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 5)
	seen := map[Stack]bool{}
	for range 5 {
		s := f.probe()
		seen[s] = true
		f.book.Decline(s, f.now)
	}
	if len(seen) != 5 {
		t.Errorf("%d were asked, want 5", len(seen))
	}
	if c := f.mustOpen(); !c.ProbeAt.After(f.now) {
		t.Error("all declined, and they are asked again at once")
	}
	// A probe that does not end is given up.
	s := f.probe()
	if wake := f.tick(f.book.Options.ProbeTimeout); len(wake) != 1 || wake[0] == s {
		t.Errorf("%v are probed after %s did not end", wake, s)
	}
}

func TestACircuitWithoutMembersCloses(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 5)
	each("a", 0, 5, func(s Stack) { f.book.Forget(s, f.now) })
	f.tick(time.Minute)
	if f.open() != nil {
		t.Error("nobody is left, and it is open")
	}
}

func TestAStackOfWhichOnlyTheNameIsKnownIsForgotten(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 5)
	each("a", 0, 5, func(s Stack) { f.book.Forget(Stack{Namespace: s.Namespace, Name: s.Name}, f.now) })
	if len(f.book.stacks) != 0 || f.mustOpen().Failing() != 0 {
		t.Errorf("%d stacks are known, %d fail", len(f.book.stacks), f.mustOpen().Failing())
	}
	f.tick(time.Minute)
	if f.open() != nil {
		t.Error("nobody is left, and it is open")
	}
}

func TestAnOutageThatComesBack(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 12)
	f.fine(f.probe())
	f.fine(f.probe())
	// All others are retried, and fail.
	f.after(time.Minute).failing("a", 0, 12)
	c := f.mustOpen()
	if len(f.book.Circuits()) != 1 || c.Openings != 2 {
		t.Errorf("%d circuits, opened %d times", len(f.book.Circuits()), c.Openings)
	}
	if pause := c.ProbeAt.Sub(f.now); pause != time.Minute {
		t.Errorf("it is probed after %s, want twice as long as the first time", pause)
	}
}

func TestMembersComeBackOneAfterTheOther(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 100)
	f.fine(f.probe())
	f.fine(f.probe())
	closed := f.now
	var at []time.Duration
	for _, s := range f.book.Circuits()[0].Members(100) {
		cover, ok := f.book.Cover(s, []string{aws})
		if !ok || cover.Open || !cover.Failed || cover.ClosedAt != closed {
			t.Fatalf("%s: %+v", s, cover)
		}
		at = append(at, cover.ResumeAt.Sub(closed))
	}
	slices.Sort(at)
	if at[0] < 0 || at[97] > 100*time.Second || at[48] < 25*time.Second || at[48] > 75*time.Second {
		t.Errorf("98 stacks are tried again after %s to %s, half of them within %s", at[0], at[97], at[48])
	}
}

func TestAClosedCircuitIsForgottenInTheEnd(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 5)
	f.fine(f.probe())
	f.fine(f.probe())
	const day = 24 * time.Hour
	if f.tick(6 * day); len(f.book.Circuits()) != 1 {
		t.Error("it was forgotten within a week, in which others do not look at the world")
	}
	if f.tick(day); len(f.book.Circuits()) != 0 {
		t.Error("it is remembered after a week")
	}
}

func TestCover(t *testing.T) {
	f := newFleet(t)
	each("b", 0, 20, f.fine)
	f.after(time.Second).failing("a", 0, 5)
	name := f.mustOpen().Name
	probed := f.probe()
	for sentence, c := range map[string]struct {
		stack     Stack
		providers []string
		want      Cover
	}{
		"one that failed":           {stackNo("a", 1), []string{aws}, Cover{Name: name, Open: true, Failed: true, What: "provider hashicorp/aws is unavailable"}},
		"the one that is probed":    {probed, nil, Cover{Name: name, Open: true, Failed: true, Probe: true, What: "provider hashicorp/aws is unavailable"}},
		"another user":              {stackNo("a", 9), []string{aws}, Cover{Name: name, Open: true, What: "provider hashicorp/aws is unavailable"}},
		"a user in another place":   {stackNo("b", 1), []string{aws}, Cover{}},
		"one with another provider": {stackNo("a", 9), []string{"hashicorp/google"}, Cover{}},
		"one whose are not known":   {stackNo("a", 9), nil, Cover{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if probed == c.stack {
				c.want.Probe = true
			}
			got, _ := f.book.Cover(c.stack, c.providers)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPeopleOpenAndClose(t *testing.T) {
	f := newFleet(t)
	f.book.Direct("upgrade", HeldOpen, "registry.opentofu.org/hashicorp/aws", nil, f.now)
	cover, ok := f.book.Cover(stackNo("a", 1), []string{aws})
	if !ok || !cover.Open || cover.Failed {
		t.Fatalf("%+v", cover)
	}
	if wake := f.tick(time.Hour); wake != nil {
		t.Errorf("%v are probed during maintenance", wake)
	}
	f.failing("a", 0, 50)
	if c := f.mustOpen(); c.Name != "upgrade" {
		t.Errorf("%s was opened beside it", c.Name)
	}
	f.book.Direct("upgrade", HeldClosed, "", nil, f.now)
	f.after(time.Second).failing("a", 0, 50)
	if f.open() != nil {
		t.Error("a person closed it, and it opened")
	}
	f.book.Release("upgrade", f.now)
	f.after(time.Second).failing("a", 100, 150)
	if c := f.mustOpen(); c.Name == "upgrade" {
		t.Error("what a person has deleted came back")
	}
}

func TestWhatACircuitIsAboutIsAlwaysSaid(t *testing.T) {
	maintained := Kind{Provider: "hashicorp/aws"}
	for want, c := range map[string]Circuit{
		"provider hashicorp/aws is under maintenance": {Mode: HeldOpen, Kind: maintained, State: Open, Openings: 1},
		"these namespaces are paused manually":        {Mode: HeldOpen, Namespaces: []string{"a"}, State: Open, Openings: 1},
		"these stacks are paused manually":            {Mode: HeldClosed},
		"provider hashicorp/aws is unavailable":       {Mode: HeldOpen, Kind: Kind{Provider: "hashicorp/aws", Cause: CauseUnavailable}, State: Open, Openings: 1},
	} {
		// It stays as it is when a person returns it to Automatic.
		for _, mode := range []Mode{c.Mode, Automatic} {
			c.Mode = mode
			if got := c.What(); got != want {
				t.Errorf("%s, %s: %q, want %q", mode, c.State, got, want)
			}
		}
	}
}

func TestAPersonNarrowsWhatWasSeen(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 5)
	f.book.Direct(f.mustOpen().Name, HeldOpen, "", []string{"a", "c"}, f.now)
	for namespace, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if cover, _ := f.book.Cover(stackNo(namespace, 9), []string{aws}); cover.Open != want {
			t.Errorf("in %s: %+v", namespace, cover)
		}
	}
}

func TestARestartForgetsNoCircuit(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 8)
	was := *f.mustOpen()
	g := newFleet(t)
	g.now = f.now.Add(time.Minute)
	g.book.Load(Circuit{Name: was.Name, Mode: was.Mode, Kind: was.Kind, Namespaces: was.Namespaces, State: HalfOpen, OpenedAt: was.OpenedAt, Affected: 8, Openings: 1}, g.now)
	if cover, ok := g.book.Cover(stackNo("a", 50), []string{aws}); !ok || !cover.Open {
		t.Fatalf("%+v", cover)
	}
	// No stack has reported a failure yet.
	if wake := g.tick(30 * time.Second); wake != nil || g.open() == nil {
		t.Fatal("it was closed, or probed, before anybody was heard")
	}
	each("a", 0, 8, func(s Stack) { g.fails(s, unavailable, func(e *Ended) { e.At = f.now }) })
	if c := g.mustOpen(); c.Failing() != 8 {
		t.Errorf("%d members", c.Failing())
	}
	g.fine(g.probe())
	g.fine(g.probe())
	if g.open() != nil {
		t.Error("it is still open")
	}
}
