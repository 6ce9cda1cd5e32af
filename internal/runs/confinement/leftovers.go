// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Mark is the number by which a run's processes are found: a resource limit without an effect,
// which every process inherits, everybody can read, and filtered programs cannot change.
func Mark(run string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(run)) // it never fails
	const large = 1 << 61         // microseconds of realtime, far beyond any real limit
	return sum.Sum64()>>3 | large
}

// Leader finds a run's program: its oldest session leader from outside the run; else 0.
func Leader(mark uint64) int {
	leader, oldest := 0, uint64(math.MaxUint64)
	all := marked(mark)
	for pid, process := range all {
		session, err := unix.Getsid(pid)
		parent, started := originOf(pid)
		if _, ofRun := all[parent]; err == nil && session == pid && !ofRun && (started < oldest || started == oldest && leader != 0 && numberedBefore(pid, leader)) {
			leader, oldest = pid, started
		}
		process.Release()
	}
	return leader
}

// numberedBefore orders processes that started in the same tick. Numbers rise until they wrap.
func numberedBefore(pid, other int) bool {
	const fewer = 1 << 14 // than this start in a tick, and than there are numbers
	if distance := other - pid; distance > -fewer && distance < fewer {
		return distance > 0
	}
	return pid > other
}

// originOf returns the parent of a process and its start, in ticks since boot.
func originOf(pid int) (parent int, started uint64) {
	_, fields, _ := statOf(pid)
	const atParent, atStart = 0, 18
	if len(fields) <= atStart {
		return 0, math.MaxUint64
	}
	parent, err := strconv.Atoi(fields[atParent])
	started, startErr := strconv.ParseUint(fields[atStart], 10, 64)
	if err != nil || startErr != nil {
		return 0, math.MaxUint64
	}
	return parent, started
}

// parseStat parses the kernel's text for statOf.
func parseStat(text string) (state string, fields []string, found bool) {
	all := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may hold spaces and brackets
	if len(all) == 0 {
		return "", nil, false
	}
	return all[0], all[1:], true
}

// EndLeft ends and counts processes that outlived their run. In namespaces there are none.
func EndLeft(mark uint64, patience time.Duration) (ended int, err error) {
	deadline := time.Now().Add(patience)
	seen := map[int]bool{}
	for {
		left := marked(mark)
		if len(left) == 0 {
			return len(seen), nil
		}
		// Stop all before killing any, so that none starts another meanwhile.
		fresh := false
		for pid, process := range left {
			if !seen[pid] {
				seen[pid], fresh = true, true
				process.Signal(unix.SIGSTOP)
			}
		}
		if !fresh {
			for _, process := range left {
				process.Signal(unix.SIGKILL)
			}
		}
		for _, process := range left {
			if !fresh {
				process.Await(moment)
			}
			process.Release()
		}
		if time.Now().After(deadline) {
			return len(seen), fmt.Errorf("end the remaining processes of a run: %d of them do not end", len(left))
		}
	}
}

// moment is how long to wait for killed processes before the next search.
const moment = 100 * time.Millisecond

// marked finds and holds the living processes with the mark.
func marked(mark uint64) map[int]Held {
	found := map[int]Held{}
	for _, pid := range markedPIDs()[mark] {
		process, alive := Hold(pid)
		if !alive {
			continue
		}
		if now, _ := markOf(pid); now != mark { // the number means another one by now
			process.Release()
			continue
		}
		found[pid] = process
	}
	return found
}

// markedPIDs are all processes with marks.
func markedPIDs() map[uint64][]int {
	found := map[uint64][]int{}
	entries, _ := patiently(func() ([]os.DirEntry, error) { return os.ReadDir("/proc") }) // without it nothing is found
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if mark, has := markOf(pid); has {
			found[mark] = append(found[mark], pid)
		}
	}
	return found
}

// markOf reads the mark of a process. Without a run, the limit is not set.
func markOf(pid int) (mark uint64, found bool) {
	text, err := patiently(func() ([]byte, error) { return os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)) })
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(text, []byte("Max realtime timeout"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line) // soft, hard, unit
	if len(fields) < 2 {
		return 0, false
	}
	mark, err = strconv.ParseUint(string(fields[1]), 10, 64)
	return mark, err == nil
}
