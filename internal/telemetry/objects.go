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
	// Paused says that a circuit breaker pauses the stack.
	Paused bool
	// Blocked says that the object waits for a dependency.
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

// standing is the key by which objects are counted.
type standing struct{ kind, namespace, ready, reason string }

// place is a namespace with objects of a kind.
type place struct{ kind, namespace string }

// census is one count of all objects.
type census struct {
	standing                       map[standing]int
	suspended, failing             map[place]int
	waiting, drifted, locked       map[string]int
	kinds, namespaces, reasonNames limited
}

func collectObjects(send sample, objects func(func(*Object))) {
	c := census{standing: map[standing]int{}, suspended: map[place]int{}, failing: map[place]int{}, waiting: map[string]int{}, drifted: map[string]int{}, locked: map[string]int{},
		kinds: limited{limit: maxResources}, namespaces: limited{limit: maxNamespaces}, reasonNames: limited{limit: maxReasons}}
	objects(c.count)
	for s, n := range c.standing {
		send(&objectsReady, float64(n), s.kind, s.namespace, s.ready, s.reason)
	}
	for f, counts := range map[*family]map[place]int{&objectsHeld: c.suspended, &objectsFail: c.failing} {
		for p, n := range counts {
			send(f, float64(n), p.kind, p.namespace)
		}
	}
	for f, counts := range map[*family]map[string]int{&stacksWaiting: c.waiting, &stacksDrifted: c.drifted, &stacksLocked: c.locked} {
		for namespace, n := range counts {
			send(f, float64(n), namespace)
		}
	}
}

func (c *census) count(o *Object) {
	kind, namespace := c.kinds.name(o.Kind), c.namespaces.name(o.Namespace)
	c.standing[standing{kind, namespace, readyOf(o), c.reasonNames.name(o.Reason)}]++
	if o.Suspended {
		c.suspended[place{kind, namespace}]++
	}
	if readyOf(o) == "False" && !o.Suspended && !o.Paused && !o.Blocked && !o.Drifted {
		c.failing[place{kind, namespace}]++
	}
	if o.Waits {
		c.waiting[namespace]++
	}
	if o.Drifted {
		c.drifted[namespace]++
	}
	if o.LockedOut {
		c.locked[namespace]++
	}
}

func readyOf(o *Object) string {
	switch o.Ready {
	case "True", "False":
		return o.Ready
	}
	return "Unknown"
}
