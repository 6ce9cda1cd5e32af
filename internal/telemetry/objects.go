// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"
)

// Object is the status of one object.
type Object struct {
	Group, Version, Kind string
	Namespace, Name      string
	// Ready and Reason are status and reason of its condition Ready; empty Ready counts as Unknown.
	Ready, Reason string
	Suspended     bool
	// Paused is true if a circuit breaker pauses the stack.
	Paused bool
	// Blocked is true if the object waits for a dependency.
	Blocked bool
	// Revision is its current revision, Source the name of its source.
	Revision, Source string
	// Waits, Drifted and LockedOut are for stacks: the plan waits for approval, there is unrepaired
	// drift, another lock holder locks the state.
	Waits, Drifted, LockedOut bool
}

// Limits on values of labels that this server does not choose.
const (
	maxNamespaces = 1000
	maxReasons    = 200
	maxResources  = 200
	// maxLabel is the maximum length of such a value.
	maxLabel = 100
	others   = "(others)"
)

// limited passes the first values and replaces all later ones by "(others)".
type limited struct {
	limit int

	mu   sync.Mutex
	seen map[string]bool
}

func (l *limited) name(value string) string {
	value = strings.ToValidUTF8(value, "?") // an invalid label would crash the process
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[value] {
		return value
	}
	if len(value) > maxLabel || len(l.seen) >= l.limit {
		return others
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[value] = true
	return value
}

// series identifies one number of a census.
type series struct {
	family *family
	labels [4]string
}

// census is one count of all objects.
type census struct {
	counts                     map[series]int
	kinds, namespaces, reasons limited
}

func collectObjects(send sample, objects func(func(*Object))) {
	c := census{counts: map[series]int{}, kinds: limited{limit: maxResources}, namespaces: limited{limit: maxNamespaces}, reasons: limited{limit: maxReasons}}
	objects(c.count)
	for s, n := range c.counts {
		send(s.family, float64(n), s.labels[:len(s.family.labels)]...)
	}
}

func (c *census) count(o *Object) {
	kind, namespace, ready := c.kinds.name(o.Kind), c.namespaces.name(o.Namespace), readyOf(o)
	c.add(true, &objectsReady, kind, namespace, ready, c.reasons.name(o.Reason))
	c.add(o.Suspended, &objectsHeld, kind, namespace)
	c.add(ready == "False" && !o.Suspended && !o.Paused && !o.Blocked && !o.Drifted, &objectsFail, kind, namespace)
	c.add(o.Waits, &stacksWaiting, namespace)
	c.add(o.Drifted, &stacksDrifted, namespace)
	c.add(o.LockedOut, &stacksLocked, namespace)
}

func (c *census) add(counts bool, f *family, labels ...string) {
	if counts {
		s := series{family: f}
		copy(s.labels[:], labels)
		c.counts[s]++
	}
}

func readyOf(o *Object) string {
	switch o.Ready {
	case "True", "False":
		return o.Ready
	}
	return "Unknown"
}
