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
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// victim is the process that a blow hits.
type victim string

const (
	theServer  victim = "server"
	theRunner  victim = "runner"
	both       victim = "server and runner"
	theTofu    victim = "tofu"
	everything victim = "everything"
	// A frozen process does nothing for some seconds, and then continues.
	frozenServer victim = "frozen server"
	frozenRunner victim = "frozen runner"
)

// moment is the event that a blow waits for.
type moment string

const (
	anyMoment moment = "any moment"
	// The server starts.
	starting moment = "a start of the server"
	// The cloud has created, changed or deleted an object: tofu is in the middle of an apply, or at
	// its end.
	changing moment = "a change of the cloud"
	// The runner has received or finished a run.
	running moment = "a run that came or went"
	// An apply was permitted and begins.
	applying moment = "the beginning of an apply"
	// The runner has spooled a state and sends it to the server.
	shipping moment = "a state on its way"
	// The runner sends a run's result to the server.
	reporting moment = "a result on its way"
	// A lock was acquired or released.
	locking moment = "a lock"
	// The server has written a stack's status.
	recording moment = "a write of a status"
)

// moments are those for kills of server and runner, midst those for kills of tofu: what matters there is an apply.
var (
	moments = []moment{starting, changing, running, applying, shipping, reporting, locking, recording}
	midst   = []moment{changing, changing, applying, applying, shipping, reporting, running}
)

// blow is one kill: a process, and a time.
type blow struct {
	victim victim
	moment moment
	// delay is the time after the moment.
	delay time.Duration
}

// schedule derives blows from a seed: a third at any time, the others soon after a moment.
func schedule(rng *rand.Rand, n int, moments []moment, victims ...victim) []blow {
	blows := make([]blow, n)
	for i := range blows {
		b := blow{victim: victims[rng.IntN(len(victims))], moment: anyMoment, delay: time.Duration(rng.Int64N(int64(3 * time.Second)))}
		if rng.IntN(3) > 0 {
			b.moment = moments[rng.IntN(len(moments))]
			b.delay = time.Duration(rng.Int64N(int64(40 * time.Millisecond)))
			if b.moment == starting {
				b.delay = time.Duration(rng.Int64N(int64(4 * time.Second)))
			}
		}
		blows[i] = b
	}
	return blows
}

// lookout reports moments.
type lookout struct {
	y    *yuba
	seen chan moment
}

func newLookout(y *yuba) *lookout { return &lookout{y: y, seen: make(chan moment)} }

// tell reports a moment, without waiting for a receiver.
func (l *lookout) tell(m moment) {
	select {
	case l.seen <- m:
	default:
	}
}

// await waits for a moment, but not for long: some moments are rare.
func (l *lookout) await(ctx context.Context, want moment) {
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case m := <-l.seen:
			if m == want {
				return
			}
		case <-deadline.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// watchSpool reports the runner's actions, as seen in the files that it writes.
func (l *lookout) watchSpool(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close() //nolint:errcheck // nothing is written
	runs := filepath.Join(l.y.dir, "runner", "runs")
	if err := watcher.Add(runs); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-watcher.Errors:
			return err
		case event := <-watcher.Events:
			switch rest := strings.Split(strings.TrimPrefix(event.Name, runs+"/"), "/"); {
			case len(rest) == 1 && event.Has(fsnotify.Create):
				watcher.Add(event.Name) //nolint:errcheck // it may be gone already
				l.tell(running)
			case len(rest) == 1:
				l.tell(running)
			case rest[1] == "apply.json":
				l.tell(applying)
			case rest[1] == "result.json":
				l.tell(reporting)
			case rest[1] == "states":
				watcher.Add(event.Name) //nolint:errcheck // it may be gone already
				l.tell(shipping)
			}
		}
	}
}

// watchAPI reports writes to the API while it is reachable.
func (l *lookout) watchAPI(ctx context.Context, c client.WithWatch, list client.ObjectList, m moment) {
	for ctx.Err() == nil {
		w, err := c.Watch(ctx, list, client.InNamespace(l.y.namespace))
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		for range w.ResultChan() {
			l.tell(m)
		}
		w.Stop()
	}
}

// watch reports all moments until ctx ends.
func (l *lookout) watch(ctx context.Context) {
	c := l.y.client()
	go l.watchAPI(ctx, c, &coordinationv1.LeaseList{}, locking)
	go l.watchAPI(ctx, c, &infrav1.TerraformList{}, recording)
	go func() {
		if err := l.watchSpool(ctx); err != nil {
			l.y.t.Errorf("watch the spool: %v", err)
		}
	}()
}

// strike waits for the blow's moment and kills.
func (l *lookout) strike(ctx context.Context, b blow) error {
	if b.moment == starting {
		l.y.signalServer(syscall.SIGKILL)
	} else if l.y.awaitReady(); b.moment != anyMoment {
		l.await(ctx, b.moment)
	}
	select {
	case <-time.After(b.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch b.victim {
	case theServer:
		l.y.signalServer(syscall.SIGKILL)
		return nil
	case theRunner:
		return l.killRunner(ctx)
	case both:
		l.y.signalServer(syscall.SIGKILL)
		return l.killRunner(ctx)
	case theTofu:
		return l.killTofu(ctx)
	case frozenServer:
		l.freeze(ctx, l.y.serverPID())
		return nil
	case frozenRunner:
		for _, p := range l.y.runners() {
			l.freeze(ctx, p.PID)
		}
		return nil
	case everything:
		l.y.signalServer(syscall.SIGKILL)
		for _, p := range l.y.processes() {
			if p.PID != l.y.serverPID() { // which may be the next one already
				kill(p.PID)
			}
		}
		return nil
	}
	return fmt.Errorf("nobody knows how to kill %s", b.victim)
}

// freeze stops a process for a while.
func (l *lookout) freeze(ctx context.Context, pid int) {
	syscall.Kill(pid, syscall.SIGSTOP)       //nolint:errcheck // it may be gone already
	defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it may be gone already
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
}

func kill(pid int) {
	syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
}

// killRunner kills the runner; if there is none now, the next one.
func (l *lookout) killRunner(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		if runners := l.y.runners(); len(runners) > 0 {
			for _, p := range runners {
				kill(p.PID)
			}
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("no runner was started")
}

// killTofu kills every tofu with its providers in the middle of its work; if there is none, the
// next one.
func (l *lookout) killTofu(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		struck := false
		for _, p := range l.y.processes() {
			if p.Program == "tofu" {
				syscall.Kill(-p.PID, syscall.SIGKILL) //nolint:errcheck // it leads a group, or is gone
				kill(p.PID)
				struck = true
			}
		}
		if struck {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("no tofu was started")
}

// entries are the names in a directory; none if it does not exist.
func entries(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, nil
}
