// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backend is what the executor of runs and those who start runners agree on. It knows
// neither side: package local starts a process, and package pod starts Pods.
package backend

import (
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Backend starts runners. Its methods other than Run must not block.
type Backend interface {
	// Run has runners execute runs until ctx ends.
	Run(ctx context.Context, runs Demand) error
	// Keeps says whether a runner works in the home, or another will follow and say what became of
	// the runs: then its lease does not end.
	Keeps(home string) bool
	// Starts says whether the backend would start a runner with this mark; others finish their runs
	// and leave.
	Starts(build string) bool
	// Place is the key of the place whose runs the home's runner may have; false for a home that is
	// not the backend's.
	Place(home string) (key string, ok bool)
	// Hinders says why the place has no runner; empty if it has one or soon will.
	Hinders(place string) string
	// Misses says what is known about the home's runner when it does not report; empty if it does.
	Misses(home string) string
}

// Demand is what a Backend needs to know of the runs in hand.
type Demand interface {
	// Wanted returns what runs need of runners now, and a channel that is closed when that changes.
	Wanted() (Wanted, <-chan struct{})
	// Ended says that the home's runner has ended, and why if that is known. If the backend does
	// not keep the home, its runs are lost or begin elsewhere.
	Ended(home, why string)
	// Hindered says that the answer of Backend.Hinders has changed for a place, and Missed that of
	// Backend.Misses for a home.
	Hindered(place string)
	Missed(home string)
}

// Wanted is what runs need of runners.
type Wanted struct {
	// Waiting runs are in the order in which they would begin. Those of namespaces that have their
	// maximum at work are not included.
	Waiting []Want
	// Homes are those that have runs or whose runner has polled this server.
	Homes map[string]Home
}

// Home is the use of a home.
type Home struct {
	// Runs is how many runs it has, and Left how much longer they are expected to take.
	Runs int
	Left time.Duration
	// Heard is when its runner last polled; zero if it never has.
	Heard time.Time
}

// Want is a waiting run.
type Want struct {
	Place *run.Place
	// Cost is how long the run is expected to take; 0 if unknown.
	Cost time.Duration
	// Awaited is true if a person waits for it.
	Awaited bool
}
