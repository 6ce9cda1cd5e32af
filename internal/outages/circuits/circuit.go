// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Options define an outage and how its end is detected. See [DefaultOptions].
type Options struct {
	// Stacks is the evidence that opens a circuit; 0 disables the detection. In addition, Share
	// (0 to 1) of comparable stacks must have the same failure. A failure older than Window does
	// not count.
	Stacks int
	Share  float64
	Window time.Duration
	// Probes is how many probes in a row must succeed; FirstPause and MaxPause bound the waits.
	Probes               int
	FirstPause, MaxPause time.Duration
	// ProbeTimeout is how long to wait for a probe before another stack is probed.
	ProbeTimeout time.Duration
	// A closed circuit spreads its members' retries over SpreadEach per member, at most MaxSpread.
	SpreadEach, MaxSpread time.Duration
	// Keep is how long the book keeps a closed circuit. A stack with a longer drift detection
	// interval repairs the effects of an outage automatically.
	Keep time.Duration
}

// DefaultOptions fit a server with one to a few thousand stacks.
func DefaultOptions() Options {
	return Options{Stacks: 5, Share: 0.5, Window: 10 * time.Minute, Probes: 2, FirstPause: 30 * time.Second, MaxPause: 5 * time.Minute,
		ProbeTimeout: 15 * time.Minute, SpreadEach: time.Second, MaxSpread: 5 * time.Minute, Keep: 7 * 24 * time.Hour}
}

// Stack names a stack. The UID distinguishes it from earlier ones of its name.
type Stack struct{ Namespace, Name, UID string }

func (s Stack) String() string { return s.Namespace + "/" + s.Name }

// State is the state of a circuit.
type State string

const (
	// Open: many stacks have the same failure.
	Open State = "Open"
	// HalfOpen: like Open, but a probe has succeeded.
	HalfOpen State = "HalfOpen"
	// Closed: the outage is over, or there was no outage.
	Closed State = "Closed"
)

// Mode says who opens and closes a circuit.
type Mode string

const (
	// Automatic: the results of runs open and close it.
	Automatic Mode = "Automatic"
	// HeldOpen: a person keeps it open.
	HeldOpen Mode = "Open"
	// HeldClosed: a person keeps it closed.
	HeldClosed Mode = "Closed"
)

// Circuit is one kind of failure that many stacks have or had.
type Circuit struct {
	Name string
	Mode Mode
	Kind Kind
	// Namespaces are the concerned namespaces; empty means all.
	Namespaces []string
	State      State
	// OpenedAt and ClosedAt are when it last opened and closed; zero for never.
	OpenedAt, ClosedAt time.Time
	// ProbeAt is when the next probe may begin; zero during a probe and if none is planned.
	ProbeAt time.Time
	// Affected counts the stacks with this failure since the last of its Openings.
	Affected, Openings int
	// Sample is one of the failures.
	Sample string

	pause     time.Duration
	members   map[Stack]*member
	succeeded map[Stack]bool
	probe     Stack
	probing   bool
	probedAt  time.Time
	// failedAt is the last failure of a member while it was open, including the one that made it a
	// member.
	failedAt time.Time
	// over is when the outage ended; failures after that begin a new series.
	over time.Time
	// loaded is when it was loaded after a restart; not all of its members are known yet.
	loaded time.Time
}

// member is a stack with this failure.
type member struct {
	cost   time.Duration
	probed time.Time
}

// IsOpen reports whether it is Open or HalfOpen.
func (c *Circuit) IsOpen() bool { return c.State == Open || c.State == HalfOpen }

// Members lists the failing stacks that have not succeeded since, sorted, up to a limit.
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

// Failing is the number of members.
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

// about reports whether the circuit concerns a namespace.
func (c *Circuit) about(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// like reports whether the circuit covers failures of a kind. All errors of one provider are the
// same outage.
func (c *Circuit) like(k Kind) bool {
	switch {
	case c.Kind.Provider != "" || k.Provider != "":
		return c.Kind.Provider == k.Provider
	case c.Kind.Host != "" || k.Host != "":
		return c.Kind.Host == k.Host
	}
	return c.Kind == k && k != Kind{}
}

// concerns reports whether the circuit concerns a stack with these providers.
func (c *Circuit) concerns(s Stack, providers []string) bool {
	if c.members[s] != nil {
		return true
	}
	if !c.about(s.Namespace) {
		return false
	}
	if c.Kind.Provider == "" {
		// A person's circuit for namespaces concerns everything in them.
		return c.Mode == HeldOpen && c.Kind == Kind{} && len(c.Namespaces) > 0
	}
	return slices.Contains(providers, c.Kind.Provider)
}

// resumeAt is when a member of a closed circuit is retried; a restart does not change it.
func (c *Circuit) resumeAt(s Stack, o Options) time.Time {
	spread := min(time.Duration(c.Affected)*o.SpreadEach, o.MaxSpread)
	h := fnv.New32a()
	h.Write([]byte(s.Namespace + "/" + s.Name)) //nolint:errcheck // a hash takes everything
	const parts = 1 << 16
	return c.ClosedAt.Add(spread / parts * time.Duration(h.Sum32()%parts))
}
