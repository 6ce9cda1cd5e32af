// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// answerLife is how long an answer is used again, and its time to live.
	answerLife = 30 * time.Second
	// pinLife is how long an address belongs to the name that it was an answer for. Programs keep
	// answers for longer than their time to live.
	pinLife = 10 * time.Minute
	// lookupPatience is how long a lookup may take.
	lookupPatience = 10 * time.Second

	maxNames = 1024
	maxPins  = 4096
)

// names resolves names, and knows the pins.
type names struct {
	lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)

	mu      sync.Mutex
	answers map[string]*answer
	pins    map[netip.Addr]map[string]time.Time
}

// answer is that of one lookup, which may not have ended yet.
type answer struct {
	done      chan struct{}
	until     time.Time
	addresses []netip.Addr
	err       error
}

func newNames(lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)) *names {
	return &names{lookup: lookup, answers: map[string]*answer{}, pins: map[netip.Addr]map[string]time.Time{}}
}

// resolve returns the addresses of a name. Programs ask for both versions at a time, so that both
// wait for the same lookup.
func (n *names) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	a := n.answers[name]
	if a == nil || time.Now().After(a.until) {
		a = &answer{done: make(chan struct{}), until: time.Now().Add(answerLife)}
		if len(n.answers) >= maxNames {
			clear(n.answers)
		}
		n.answers[name] = a
		go n.ask(ctx, name, a)
	}
	n.mu.Unlock()
	<-a.done
	return a.addresses, a.err
}

func (n *names) ask(ctx context.Context, name string, a *answer) {
	defer close(a.done)
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	addresses, err := n.lookup(ctx, "ip", name+".") // the dot keeps it from being completed
	for i := range addresses {
		addresses[i] = addresses[i].Unmap().WithZone("")
	}
	a.addresses, a.err = addresses, err
	if err != nil { // ask again next time
		n.mu.Lock()
		delete(n.answers, name)
		n.mu.Unlock()
	}
}

// missing reports whether a lookup found that the name does not exist.
func missing(err error) bool {
	var problem *net.DNSError
	return errors.As(err, &problem) && problem.IsNotFound
}

// pin notes that a name was resolved to an address.
func (n *names) pin(address netip.Addr, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.pins[address] == nil && len(n.pins) >= maxPins {
		for other, all := range n.pins {
			for name, until := range all {
				if now.After(until) {
					delete(all, name)
				}
			}
			if len(all) == 0 {
				delete(n.pins, other)
			}
		}
		if len(n.pins) >= maxPins {
			return
		}
	}
	all := n.pins[address]
	if all == nil {
		all = map[string]time.Time{}
		n.pins[address] = all
	}
	if _, known := all[name]; known || len(all) < maxNames {
		all[name] = now.Add(pinLife)
	}
}

// of returns the names that an address is pinned to.
func (n *names) of(address netip.Addr) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for name, until := range n.pins[address.Unmap()] {
		if time.Now().Before(until) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
