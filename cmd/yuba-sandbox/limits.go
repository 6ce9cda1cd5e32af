// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitNames are the supported limits, by their names for prlimit(1).
var limitNames = map[string]int{
	"nproc": unix.RLIMIT_NPROC, "nofile": unix.RLIMIT_NOFILE, "fsize": unix.RLIMIT_FSIZE, "data": unix.RLIMIT_DATA,
}

// markedBy is the limit whose value marks the processes of a run, whatever they do to their names,
// parents and environments. It has no other effect, because realtime scheduling is refused, and
// every process can read it.
const markedBy = unix.RLIMIT_RTTIME

// limit is a resource limit of a process and its children.
type limit struct {
	resource int
	most     uint64
}

// parseLimit reads NAME=N.
func parseLimit(text string) (limit, error) {
	name, number, _ := strings.Cut(text, "=")
	resource, known := limitNames[name]
	most, err := strconv.ParseUint(number, 10, 63)
	if !known || err != nil {
		return limit{}, fmt.Errorf("-limit %q: want NAME=N", text)
	}
	return limit{resource, most}, nil
}

// set applies the limit, but never raises one.
func (l limit) set() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(l.resource, &now); err != nil {
		return fmt.Errorf("ask for limit %d: %w", l.resource, err)
	}
	wanted := unix.Rlimit{Cur: min(l.most, now.Cur), Max: min(l.most, now.Max)}
	if err := unix.Setrlimit(l.resource, &wanted); err != nil {
		return fmt.Errorf("set limit %d to %d: %w", l.resource, l.most, err)
	}
	return nil
}

// setMark marks this process. A mark that the kernel would cut is an error.
func setMark(mark uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(markedBy, &now); err != nil {
		return fmt.Errorf("ask for the limit RLIMIT_RTTIME: %w", err)
	}
	if now.Max < mark {
		return fmt.Errorf("mark the processes of the run: the hard limit RLIMIT_RTTIME is %d microseconds, and must be unlimited. "+
			"Remove LimitRTTIME= from the unit, or rttime from the limits of the user, and restart Yuba", now.Max)
	}
	return limit{markedBy, mark}.set()
}

// firstToGo is the score, of a thousand, by which the kernel prefers to kill this process when
// memory runs out.
const firstToGo = "700"

// goFirst makes the kernel kill this process and its children before the server when memory runs
// out.
func goFirst() {
	_ = setOwn("oom_score_adj", firstToGo) // fails if a service manager set a higher score
}
