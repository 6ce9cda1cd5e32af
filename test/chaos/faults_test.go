// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outage kills the server and all its processes, calls do while nothing runs, and lets the server
// start again.
func (y *yuba) outage(do func()) {
	y.t.Helper()
	y.power.Lock()
	defer y.power.Unlock()
	y.signalServer(syscall.SIGKILL)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		left := y.processes()
		for _, p := range left {
			kill(p.PID)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			y.t.Fatalf("processes that cannot be killed: %v", left)
		}
	}
	do()
}

// amidst are the moments when faults do damage: an apply begins, is active, or ends.
var amidst = []moment{changing, changing, applying, applying, shipping, reporting, running}

// strikeFaults injects faults one after the other while the fleet changes, and lets everything
// settle after each.
func (s *storm) strikeFaults(t *testing.T, rng *rand.Rand, n int, strike func(i int) string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.lookout.watch(ctx)
	if err := s.grow(ctx, *stacksFlag); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.y.awaitReady()
		for range 1 + rng.IntN(maxBehind) {
			if err := s.change(ctx); err != nil {
				t.Fatal(err)
			}
		}
		m := amidst[rng.IntN(len(amidst))]
		s.lookout.await(ctx, m)
		pass(t, time.Duration(rng.Int64N(int64(60*time.Millisecond))))
		what := strike(i)
		s.struck[what]++
		s.struck["at "+string(m)]++
		s.settleListing(t)
	}
}

// A power cut loses unsynced data. Each of tofu's changes is in a state or listed by a run.
func TestPowerCuts(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	disk := y.onDevice(1 << 30)
	y.up()
	s := gather(t, seed, y, "cuts")
	s.breaksLocks = true
	began := time.Now()
	s.strikeFaults(t, rand.New(rand.NewPCG(seed, 1)), *cutsFlag, func(int) string { //nolint:gosec // a schedule is no secret
		y.outage(func() { disk.cutPower(t) })
		return "power cuts"
	})
	s.auditListing(t)
	s.report(t, time.Since(began), 0, s.auditRecords(t))
}

// Files of runs, of the runner and the server, are damaged while nothing runs.
func TestDamagedFiles(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	y.up()
	s := gather(t, seed, y, "damage")
	s.breaksLocks = true
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a schedule is no secret
	began := time.Now()
	s.strikeFaults(t, rng, *damagesFlag, func(int) string {
		what := "nothing was there to be damaged"
		y.outage(func() {
			for range 1 + rng.IntN(4) {
				if how, where := y.damage(rng); how != "" {
					what = how
					t.Logf("%s: %s", how, where)
				}
			}
		})
		return what
	})
	s.auditListing(t)
	s.report(t, time.Since(began), 0, s.auditRecords(t))
}

// victims are the files that may be damaged: those of runs in the runner's spool, of working
// directories, and the records of active runs.
func (y *yuba) victims() []string {
	var found []string
	for _, pattern := range []string{
		"runner/runs/*/*", "runner/runs/*/states/*", "runner/live/*", "work/*/*/workspace.json", "work/*/*/src/*.tfstate", "work/*/*/plan/*",
	} {
		names, err := filepath.Glob(filepath.Join(y.dir, pattern))
		if err != nil {
			y.t.Fatal(err)
		}
		found = append(found, names...)
	}
	runs, err := entries(filepath.Join(y.dir, "runner", "runs"))
	if err != nil {
		y.t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(y.dir, "blobs", "runs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains(runs, filepath.Base(filepath.Dir(path))) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(name string) bool {
		info, err := os.Lstat(name)
		return err != nil || !info.Mode().IsRegular()
	})
}

// damage damages one file and returns how and which; nothing if there is none.
func (y *yuba) damage(rng *rand.Rand) (how, where string) {
	y.t.Helper()
	files := y.victims()
	if len(files) == 0 {
		return "", ""
	}
	slices.Sort(files)
	path := files[rng.IntN(len(files))]
	data, err := os.ReadFile(path)
	if err != nil {
		y.t.Fatal(err)
	}
	where, _ = filepath.Rel(y.dir, path) //nolint:errcheck // it is below
	where = fmt.Sprintf("%s (%d bytes)", where, len(data))
	if len(data) == 0 || rng.IntN(5) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			y.t.Fatal(err)
		}
		return "deleted", where
	}
	from := rng.IntN(len(data))
	to := min(len(data), from+1+rng.IntN(4096))
	switch rng.IntN(3) {
	case 0:
		how, data = "truncated", data[:from]
	case 1:
		how = "zeroed"
		clear(data[from:to])
	default:
		how = "overwritten with noise"
		for i := from; i < to; i++ {
			data[i] = byte(rng.Uint32()) //nolint:gosec // any byte will do
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		y.t.Fatal(err)
	}
	return how, where
}

// person does what a message asks people to do: it pushes a state that was left behind.
func (s *storm) person(t *testing.T, message string) {
	t.Helper()
	_, rest, asked := strings.Cut(message, "`yuba state push ")
	words, _, whole := strings.Cut(rest, "`")
	name, file, two := strings.Cut(words, " ")
	if name, _, _ = strings.Cut(name, "/"); !asked || !whole || !two {
		return
	}
	out, err := s.y.run(t.Context(), "state", "push", name, file, "-n", s.y.namespace, "--yes")
	t.Logf("a person pushes the state that was left of %s: %v %s", name, err, out)
	s.struck["states pushed by a person"]++
}
