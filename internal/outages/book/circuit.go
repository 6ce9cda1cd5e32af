// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Options say how much is an outage, and how its end is looked for. See [DefaultOptions].
type Options struct {
	// Stacks is how much evidence opens a circuit; 0 means that none ever opens by itself. Share is the share of comparable
	// stacks that must have failed alike, from 0 to 1. Window is how long a failure is news.
	Stacks int
	Share  float64
	Window time.Duration
	// Probes is how many probes in a row must succeed. FirstPause is before the first, MaxPause the longest between two.
	Probes               int
	FirstPause, MaxPause time.Duration
	// ProbeTimeout is how long a probe may take until another stack is probed.
	ProbeTimeout time.Duration
	// SpreadEach is how much longer the members of a circuit are spread for each of them when it has closed, MaxSpread the
	// longest.
	SpreadEach, MaxSpread time.Duration
	// Keep is how long a closed circuit is remembered: who looks at the world less often than that repairs, at the first look
	// after an outage, what that has left.
	Keep time.Duration
}

// DefaultOptions fit a machine with one to some thousand stacks.
func DefaultOptions() Options {
	return Options{Stacks: 5, Share: 0.5, Window: 10 * time.Minute, Probes: 2, FirstPause: 30 * time.Second, MaxPause: 5 * time.Minute,
		ProbeTimeout: 15 * time.Minute, SpreadEach: time.Second, MaxSpread: 5 * time.Minute, Keep: 7 * 24 * time.Hour}
}

// Stack names a stack. The UID distinguishes it from earlier ones of its name.
type Stack struct{ Namespace, Name, UID string }

func (s Stack) String() string { return s.Namespace + "/" + s.Name }

// State is how a circuit stands.
type State string

const (
	// Open: many stacks fail alike.
	Open State = "Open"
	// HalfOpen: as Open, but a probe has succeeded.
	HalfOpen State = "HalfOpen"
	// Closed: the outage is over, or there was none.
	Closed State = "Closed"
)

// Mode says who opens and closes a circuit.
type Mode string

const (
	// Automatic: it opens and closes by what runs show.
	Automatic Mode = "Automatic"
	// HeldOpen: a person keeps it open.
	HeldOpen Mode = "Open"
	// HeldClosed: a person keeps it closed.
	HeldClosed Mode = "Closed"
)

// Circuit is one kind of failure that is, or was, many stacks'.
type Circuit struct {
	Name string
	Mode Mode
	Kind Kind
	// Namespaces are those that it is about; all when there are none.
	Namespaces []string
	State      State
	// OpenedAt and ClosedAt are when it was last; zero when it never was.
	OpenedAt, ClosedAt time.Time
	// ProbeAt is when the next probe may begin; zero while one is at work or none is to come.
	ProbeAt time.Time
	// Affected is how many stacks failed alike since it was opened, Openings how often that happened.
	Affected, Openings int
	// Sample is one of the failures.
	Sample string

	pause     time.Duration
	members   map[Stack]*member
	succeeded map[Stack]bool
	probe     Stack
	probing   bool
	probedAt  time.Time
	// failedAt is when a member, or who became one, failed last while it was open.
	failedAt time.Time
	// over is when it was seen or said to be over: who fails after that begins a new row of failures.
	over time.Time
	// loaded is when it was loaded from an earlier server, whose members become known bit by bit.
	loaded time.Time
}

// member is a stack that failed alike.
type member struct {
	cost   time.Duration
	probed time.Time
}

// IsOpen says whether it is open, half or whole.
func (c *Circuit) IsOpen() bool { return c.State == Open || c.State == HalfOpen }

// Members lists the stacks that failed alike and were not seen to succeed since, sorted, at most so many.
func (c *Circuit) Members(most int) []Stack {
	all := make([]Stack, 0, len(c.members))
	for s := range c.members {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Stack) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
	return all[:min(most, len(all))]
}

// Failing is how many members there are.
func (c *Circuit) Failing() int { return len(c.members) }

// MemberNamespaces lists the namespaces of the members, sorted.
func (c *Circuit) MemberNamespaces() []string {
	var all []string
	for s := range c.members {
		all = append(all, s.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// about says whether it is about a namespace.
func (c *Circuit) about(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// like says whether failures of a kind are its own: whatever a provider says while it is down, it is the same outage.
func (c *Circuit) like(k Kind) bool {
	switch {
	case c.Kind.Provider != "" || k.Provider != "":
		return c.Kind.Provider == k.Provider
	case c.Kind.Host != "" || k.Host != "":
		return c.Kind.Host == k.Host
	}
	return c.Kind == k && k != Kind{}
}

// concerns says whether it is about a stack with these providers.
func (c *Circuit) concerns(s Stack, providers []string) bool {
	if c.members[s] != nil {
		return true
	}
	if !c.about(s.Namespace) {
		return false
	}
	if c.Kind.Provider == "" {
		// One that a person made for namespaces is about all that is in them.
		return c.Mode == HeldOpen && c.Kind == Kind{} && len(c.Namespaces) > 0
	}
	return slices.Contains(providers, c.Kind.Provider)
}

// resumeAt is when a member of a closed circuit is tried again. It depends on nothing that a restart forgets.
func (c *Circuit) resumeAt(s Stack, o Options) time.Time {
	spread := min(time.Duration(c.Affected)*o.SpreadEach, o.MaxSpread)
	h := fnv.New32a()
	h.Write([]byte(s.Namespace + "/" + s.Name)) //nolint:errcheck // a hash takes everything
	const parts = 1 << 16
	return c.ClosedAt.Add(spread / parts * time.Duration(h.Sum32()%parts))
}
