// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Backend starts runners.
type Backend interface {
	// Run has runners execute runs until ctx ends. It calls ended after each end of a runner, when
	// Keeps has the answer for its home.
	Run(ctx context.Context, ended func(home string)) error
	// Keeps says whether a runner works in the home, or another will follow and say what became of
	// the runs: then its lease does not end. It must not block.
	Keeps(home string) bool
	// Starts says whether the backend would start a runner with this mark; others finish their runs
	// and leave. It must not block.
	Starts(build string) bool
}

// noBackend is for servers that do not start runners: any runner may poll.
type noBackend struct{}

func (noBackend) Run(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }
func (noBackend) Keeps(string) bool                             { return false }
func (noBackend) Starts(string) bool                            { return true }

// homes are where runners work or worked lately, all in memory. hand.mu guards it.
type homes struct {
	backend Backend
	// length is how long the lease of a silent home lasts.
	length time.Duration
	byName map[string]*home
	// deleted are stacks whose working directories the runner has not reported as removed yet.
	deleted []run.Stack
}

// home is one of them, and what its runner says with its polls.
type home struct {
	lease lease.Home
	// gone is true once the backend has said that the home's runner has ended and none will follow.
	gone bool
	// dismissed is the runner of another build that must leave, leaving the stacks of its runs.
	dismissed string
	leaving   []run.Stack

	// seen is when the last poll came or was answered, polls how many are being answered now.
	seen    time.Time
	polls   int
	version string
	usage   *run.Usage
	// places is how many runs work at a time, ahead those that had no place yet.
	places int
	ahead  []string
}

func newHomes(opts *Options) *homes {
	return &homes{backend: opts.Backend, length: cmp.Or(opts.Lease, lease.Default), byName: map[string]*home{}}
}

// of is a home by its name. The lease of a new one begins now.
func (s *homes) of(name string) *home {
	h := s.byName[name]
	if h == nil {
		h = &home{lease: lease.Home{Renewed: time.Now()}}
		s.byName[name] = h
	}
	return h
}

// heard notes a poll that begins.
func (s *homes) heard(req run.PollRequest) *home {
	h, now := s.of(req.Home), time.Now()
	h.polls++
	if !h.lease.Left(req.Runner) {
		h.lease, h.gone = h.lease.Takes(req.Runner, now), false
		h.seen, h.version = now, req.Version
		h.places, h.ahead = req.Places, req.Ahead
		h.usage = cmp.Or(req.Usage, h.usage)
	}
	return h
}

// answered notes that a runner got the answer to its poll.
func (h *home) answered(runner string) {
	h.polls--
	if h.lease.Runner == runner {
		h.seen = time.Now()
		h.lease.Renewed = h.seen
	}
}

// renew begins a home's lease anew: one of its runners has shipped something.
func (s *homes) renew(name string) {
	if name != "" {
		s.of(name).lease.Renewed = time.Now()
	}
}

// renewAll begins all leases anew.
func (s *homes) renewAll(now time.Time) {
	for _, h := range s.byName {
		h.lease.Renewed = now
	}
}

// forget drops homes that have no run and have fallen silent.
func (s *homes) forget(used map[string]bool) {
	now := time.Now()
	for name, h := range s.byName {
		if !used[name] && h.polls == 0 && (h.gone || s.facts(name).Ended(now, s.length)) {
			delete(s.byName, name)
		}
	}
}

// facts is what package lease needs to know of a home.
func (s *homes) facts(name string) lease.Home {
	h := s.of(name)
	facts := h.lease
	facts.Alive, facts.Gone = h.polls > 0 || s.backend.Keeps(name), h.gone
	return facts
}

// leaving names the stacks whose runs the runners that leave still finish.
func (s *homes) leaving() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		for _, stack := range s.byName[name].leaving {
			names = append(names, stack.String())
		}
	}
	return names
}

// last is the runner that was heard last.
func (s *homes) last() (last Runner) {
	for _, h := range s.byName {
		if h.seen.After(last.Seen) {
			last = Runner{Seen: h.seen, Asking: h.polls > 0, Version: h.version, Usage: h.usage}
		}
	}
	return last
}
