// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"slices"
	"strings"
	"time"
)

// Ended describes an ended run as evidence about outages.
type Ended struct {
	Stack Stack
	Run   string
	At    time.Time
	// Cost is the duration of the run.
	Cost time.Duration
	// Providers are the stack's providers; nil if unknown.
	Providers []string
	// Program is the source archive. Proven: this configuration of the stack has worked before.
	Program string
	Proven  bool
	// Failure is set if the run failed and the cause may be external. A run without Succeeded and
	// Failure ended for a reason of its own, such as a configuration error.
	Succeeded bool
	Failure   *Failure
}

// Book records all circuits. It is not safe for concurrent use.
type Book struct {
	Options Options

	circuits []*Circuit
	stacks   map[Stack]*last
	// evidence counts the failing stacks by kind and evidence. With too little evidence, the book
	// need not examine all stacks.
	evidence map[Kind]map[string]int
}

// last is the end of a stack's last run.
type last struct {
	run       string
	at        time.Time
	providers []string
	// began is when the run began.
	began     time.Time
	succeeded bool
	// failing is set while runs fail with the same kind; since is the time of the first failure.
	failing  *Kind
	since    time.Time
	evidence string
}

// Circuits lists all circuits, unordered. They belong to the book: do not keep or change them.
func (b *Book) Circuits() []*Circuit { return b.circuits }

// Find returns a circuit by its name, or nil.
func (b *Book) Find(name string) *Circuit {
	for _, c := range b.circuits {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Observe records the end of a run and reports whether a circuit changed. Repeated calls for a run
// have no effect.
func (b *Book) Observe(e Ended, now time.Time) bool {
	before := b.stacks[e.Stack]
	if before != nil && (before.run == e.Run || before.at.After(e.At)) {
		return false
	}
	is := &last{run: e.Run, at: e.At, providers: e.Providers, began: e.At.Add(-e.Cost), succeeded: e.Succeeded}
	if is.providers == nil && before != nil {
		is.providers = before.providers
	}
	if e.Succeeded || e.Failure == nil {
		b.put(e.Stack, is)
	}
	switch {
	case e.Succeeded:
		return b.succeeded(e, now)
	case e.Failure == nil:
		return b.inconclusive(e.Stack, now)
	}
	k := Examine(*e.Failure, e.Stack, is.providers)
	is.failing, is.since, is.evidence = &k, e.At, evidenceOf(e, k)
	if before != nil && before.failing != nil && alike(*before.failing, k) && !b.overSince(k, before.at) {
		is.since = before.since
	}
	b.put(e.Stack, is)
	return b.failed(e, k, now)
}

// put records a stack's last run; nil removes it.
func (b *Book) put(s Stack, is *last) {
	if b.stacks == nil {
		b.stacks, b.evidence = map[Stack]*last{}, map[Kind]map[string]int{}
	}
	if was := b.stacks[s]; was != nil && was.failing != nil {
		of := b.evidence[*was.failing]
		if of[was.evidence]--; of[was.evidence] <= 0 {
			delete(of, was.evidence)
		}
		if len(of) == 0 {
			delete(b.evidence, *was.failing)
		}
	}
	if is == nil {
		delete(b.stacks, s)
		return
	}
	b.stacks[s] = is
	if is.failing != nil {
		of := b.evidence[*is.failing]
		if of == nil {
			of = map[string]int{}
			b.evidence[*is.failing] = of
		}
		of[is.evidence]++
	}
}

// Knows reports whether the stack's providers are known.
func (b *Book) Knows(s Stack) bool { return b.stacks[s] != nil }

// Learn records the providers of a stack that has no ended run yet.
func (b *Book) Learn(s Stack, providers []string) {
	if b.stacks[s] == nil {
		b.put(s, &last{providers: providers})
	}
}

// alike reports whether two failures have the same provider or host, whatever the cause.
func alike(a, b Kind) bool { return (&Circuit{Kind: a}).like(b) }

// overSince reports whether an outage of a kind ended after that time.
func (b *Book) overSince(k Kind, at time.Time) bool {
	return slices.ContainsFunc(b.circuits, func(c *Circuit) bool { return c.like(k) && c.over.After(at) })
}

// evidenceOf identifies a failure: two with the same identity count once.
func evidenceOf(e Ended, k Kind) string {
	if e.Proven || worldly(k.Cause) || e.Program == "" {
		return "stack " + e.Stack.Namespace + "/" + e.Stack.Name
	}
	return "program " + e.Program
}

func (b *Book) succeeded(e Ended, now time.Time) (changed bool) {
	for _, c := range b.circuits {
		if c.members[e.Stack] == nil {
			continue
		}
		changed = true
		delete(c.members, e.Stack)
		c.endProbe(e.Stack)
		if !c.IsOpen() || c.Mode != Automatic || e.At.Before(c.OpenedAt) {
			continue
		}
		if c.succeeded == nil {
			c.succeeded = map[Stack]bool{}
		}
		c.succeeded[e.Stack] = true
		c.State = HalfOpen
		if len(c.succeeded) >= b.Options.Probes || len(c.members) == 0 {
			c.close(now, true)
		} else if !c.probing {
			c.ProbeAt = now
		}
	}
	return changed
}

// inconclusive handles a run that failed without an external cause. Such a run says nothing about
// an outage, so the stack leaves its circuits.
func (b *Book) inconclusive(s Stack, now time.Time) (changed bool) {
	for _, c := range b.circuits {
		changed = c.leave(s, now) || changed
	}
	return changed
}

// leave ends a stack's membership. If that ends a probe, another stack is probed at once.
func (c *Circuit) leave(s Stack, now time.Time) bool {
	if c.members[s] == nil {
		return false
	}
	delete(c.members, s)
	if c.endProbe(s) && c.IsOpen() {
		c.ProbeAt = now
	}
	return true
}

func (b *Book) failed(e Ended, k Kind, now time.Time) (changed bool) {
	for _, c := range b.circuits {
		if !c.like(k) {
			// The stack now fails for another reason.
			changed = c.leave(e.Stack, now) || changed
			continue
		}
		switch {
		case c.IsOpen() && c.about(e.Stack.Namespace):
			changed = b.joins(c, e, now) || changed
		case !c.IsOpen() && !e.At.After(c.ClosedAt) && e.At.After(c.OpenedAt.Add(-b.Options.Window)):
			// It failed during the outage, but is reported only now.
			c.join(e)
			changed = true
		case !c.IsOpen() && c.members[e.Stack] != nil:
			delete(c.members, e.Stack)
			changed = true
		}
	}
	return b.widen(e, k, now) || changed
}

// joins makes a stack a member of an open circuit, or records that a probe failed.
func (b *Book) joins(c *Circuit, e Ended, now time.Time) bool {
	joined := c.members[e.Stack] == nil
	if e.At.After(c.failedAt) {
		c.failedAt = e.At
	}
	if joined && (c.loaded.IsZero() || e.At.After(c.loaded)) {
		c.Affected++
	}
	c.join(e)
	probed := c.endProbe(e.Stack)
	if probed {
		c.pause = min(2*c.pause, b.Options.MaxPause)
	}
	if c.Mode != Automatic || !probed && c.State != HalfOpen {
		return joined
	}
	c.State, c.succeeded = Open, nil
	if !c.probing {
		c.ProbeAt = now.Add(c.pause)
	}
	return true
}

func (c *Circuit) join(e Ended) {
	if c.members == nil {
		c.members = map[Stack]*member{}
	}
	m := c.members[e.Stack]
	if m == nil {
		m = &member{}
		c.members[e.Stack] = m
	}
	m.cost = e.Cost
	if c.Sample == "" {
		c.Sample = sampleOf(e.Failure)
	}
}

// maxSample limits the displayed text of a failure.
const maxSample = 500

func sampleOf(f *Failure) string {
	text := f.Summary
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return cut(strings.Join(strings.Fields(text), " "), maxSample)
}

// endProbe ends the probe if it is that stack's, and reports whether it was.
func (c *Circuit) endProbe(s Stack) bool {
	if !c.probing || c.probe != s {
		return false
	}
	c.probing, c.probe = false, Stack{}
	return true
}

// widen opens or extends a circuit when the failures of a kind show an outage, or a larger one than
// the known one.
func (b *Book) widen(e Ended, k Kind, now time.Time) bool {
	var known *Circuit
	for _, c := range b.circuits {
		held := c.Mode == HeldClosed || c.Mode == HeldOpen && c.IsOpen() && c.about(e.Stack.Namespace)
		if held && c.like(k) {
			return false
		}
		if c.like(k) && c.IsOpen() && c.Mode == Automatic {
			known = c
		}
	}
	// Failures within the known extent of an outage are not evidence that it is larger.
	if b.Options.Stacks <= 0 || len(b.evidence[k]) < b.Options.Stacks || known != nil && known.about(e.Stack.Namespace) {
		return false
	}
	var out []string
	if known != nil {
		out = known.Namespaces
	}
	namespace, ok := b.extent(k, e.Stack.Namespace, out, now)
	if !ok {
		return false
	}
	c := known
	if c == nil {
		if c = b.open(k, now); c == nil {
			return false
		}
	}
	switch {
	case namespace == "":
		c.Namespaces = nil
	case known != nil || !slices.Contains(c.Namespaces, namespace):
		c.Namespaces = append(c.Namespaces, namespace)
		slices.Sort(c.Namespaces)
	}
	b.gather(c, e, now)
	return true
}

// maxCircuits limits the circuits: programs can fail with any number of different texts.
const maxCircuits = 200

// makeRoom drops the circuit that has been closed longest if there are too many, and reports
// whether there is room.
func (b *Book) makeRoom() bool {
	if len(b.circuits) < maxCircuits {
		return true
	}
	oldest := -1
	for i, c := range b.circuits {
		if !c.IsOpen() && c.Mode == Automatic && (oldest < 0 || c.ClosedAt.Before(b.circuits[oldest].ClosedAt)) {
			oldest = i
		}
	}
	if oldest >= 0 {
		b.circuits = slices.Delete(b.circuits, oldest, oldest+1)
	}
	return oldest >= 0
}

// open creates a circuit, or reopens the closed one of the same name; nil if there are too many.
func (b *Book) open(k Kind, now time.Time) *Circuit {
	c := b.Find(k.Name())
	if c == nil {
		if !b.makeRoom() {
			return nil
		}
		c = &Circuit{Name: k.Name()}
		b.circuits = append(b.circuits, c)
	}
	// Probe less often if the outage soon returned.
	pause := b.Options.FirstPause
	if c.pause > 0 && now.Before(c.ClosedAt.Add(b.Options.Window)) {
		pause = min(2*c.pause, b.Options.MaxPause)
	}
	*c = Circuit{Name: c.Name, Mode: Automatic, Kind: k, State: Open, OpenedAt: now, ClosedAt: c.ClosedAt, Openings: c.Openings + 1,
		ProbeAt: now.Add(pause), pause: pause}
	return c
}

// gather makes all stacks members that have the same failure within the extent of the circuit.
func (b *Book) gather(c *Circuit, e Ended, now time.Time) {
	for s, l := range b.stacks {
		if l.failing == nil || !c.like(*l.failing) || !c.about(s.Namespace) || l.at.Before(now.Add(-b.Options.Window)) || c.members[s] != nil {
			continue
		}
		if c.members == nil {
			c.members = map[Stack]*member{}
		}
		c.members[s] = &member{}
		c.Affected++
	}
	c.join(e)
}

// Forget drops a deleted stack; without a UID, all stacks of that name.
func (b *Book) Forget(s Stack, now time.Time) (changed bool) {
	if s.UID != "" {
		b.put(s, nil)
		return b.inconclusive(s, now)
	}
	for known := range b.stacks {
		if known.Namespace == s.Namespace && known.Name == s.Name && known.UID != "" {
			changed = b.Forget(known, now) || changed
		}
	}
	return changed
}
