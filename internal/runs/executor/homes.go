// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// noBackend is for servers that do not start runners: any runner may poll.
type noBackend struct{}

func (noBackend) Run(ctx context.Context, _ backend.Demand) error { <-ctx.Done(); return nil }
func (noBackend) Keeps(string) bool                               { return false }
func (noBackend) Starts(string) bool                              { return true }
func (noBackend) Place(string) (string, bool)                     { return "", true }
func (noBackend) Hinders(string) string                           { return "" }
func (noBackend) Misses(string) string                            { return "" }

// homes are the places where runners work or recently worked, all in memory. hand.mu guards it.
type homes struct {
	backend backend.Backend
	// length is the length of a lease without polls.
	length time.Duration
	byName map[string]*home
	// deleted are stacks whose working directories the runner has not reported as removed yet.
	deleted []run.Stack
}

// home is one place, with the data from its runner's polls.
type home struct {
	lease lease.Home
	// gone is true once the backend has reported that the home's runner ended and none will follow.
	gone bool
	// why says why it has ended, if the backend knows.
	why string
	// dismissed is the runner of another build that must leave, leaving the stacks of its runs.
	dismissed string
	leaving   []run.Stack

	// seen is when the last poll arrived or was answered, polls the number being answered now.
	seen    time.Time
	polls   int
	version string
	usage   *run.Usage
	// places is how many runs execute at a time, ahead the runs that had no place yet.
	places int
	ahead  []string
}

func newHomes(opts *Options) *homes {
	return &homes{backend: opts.Backend, length: cmp.Or(opts.Lease, lease.Default), byName: map[string]*home{}}
}

// of returns a home by its name. The lease of a new one begins now.
func (s *homes) of(name string) *home {
	h := s.byName[name]
	if h == nil {
		h = &home{lease: lease.Home{Renewed: time.Now()}}
		s.byName[name] = h
	}
	return h
}

// heard records the start of a poll.
func (s *homes) heard(req run.PollRequest) *home {
	h, now := s.of(req.Home), time.Now()
	h.polls++
	if !h.lease.Left(req.Runner) {
		h.lease, h.gone, h.why = h.lease.Takes(req.Runner, now), false, ""
		h.seen, h.version = now, req.Version
		h.places, h.ahead = req.Places, req.Ahead
		h.usage = cmp.Or(req.Usage, h.usage)
	}
	return h
}

// answered records that a runner got the answer to its poll.
func (h *home) answered(runner string) {
	h.polls--
	if h.lease.Runner == runner {
		h.seen = time.Now()
		h.lease.Renewed = h.seen
	}
}

// renew renews a home's lease: one of its runners has shipped something.
func (s *homes) renew(name string) {
	if name != "" {
		s.of(name).lease.Renewed = time.Now()
	}
}

// renewAll renews all leases.
func (s *homes) renewAll(now time.Time) {
	for _, h := range s.byName {
		h.lease.Renewed = now
	}
}

// forget drops homes without runs that no longer poll.
func (s *homes) forget(used map[string]bool) {
	now := time.Now()
	for name, h := range s.byName {
		if !used[name] && h.polls == 0 && (h.gone || s.facts(name).Ended(now, s.length)) {
			delete(s.byName, name)
		}
	}
}

// facts returns the facts about a home for package lease.
func (s *homes) facts(name string) lease.Home {
	h := s.of(name)
	facts := h.lease
	facts.Alive, facts.Gone = h.polls > 0 || s.backend.Keeps(name), h.gone
	return facts
}

// leaving names the stacks whose runs dismissed runners still finish.
func (s *homes) leaving() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		for _, stack := range s.byName[name].leaving {
			names = append(names, stack.String())
		}
	}
	return names
}

// last returns the runner that polled last.
func (s *homes) last() (last Runner) {
	for _, h := range s.byName {
		if h.seen.After(last.Seen) {
			last = Runner{Seen: h.seen, Asking: h.polls > 0, Version: h.version, Usage: h.usage}
		}
	}
	return last
}
