// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// follower reads what a process writes as it is written: its output into the log and the stream, and its states into
// the spool. A state is taken the moment it is written, so its directory is watched. Output alone is looked for now and
// then: a watch costs more than a short process takes to plan, and people see lines some time later anyway.
type follower struct {
	of     *Supervisor
	stream *plan.Stream
	out    *tail
	errs   *tail
	// watcher is nil without states, and where the kernel gives none.
	watcher *fsnotify.Watcher
	ended   chan struct{}
	done    chan struct{}
	// doubt says why lines of the output may be missing; empty when it was read whole.
	doubt string
}

// follow starts reading the output files of a step. Fresh is false for a process of a runner before: then the lines
// that are in the log already only go to the stream.
func (g *Supervisor) follow(step run.Step, states, fresh bool) (*follower, error) {
	f := &follower{of: g, stream: &plan.Stream{}, ended: make(chan struct{}), done: make(chan struct{})}
	// A line may be a whole state, when tofu could write it nowhere else; encoded it can be some larger than its file.
	limit := max(64<<20, 2*int(g.run.Spec.Limits.StateBytes))
	f.out = &tail{path: g.run.Dir.Path(string(step) + spool.OutEnd), limit: limit}
	f.errs = &tail{path: g.run.Dir.Path(string(step) + spool.ErrEnd), limit: limit}
	f.out.cut, f.errs.cut = f.noteCut, f.noteCut
	if fresh {
		g.logStart = g.run.Log.Length()
	} else {
		var err error
		if f.out.known, f.errs.known, err = g.linesInLog(); err != nil {
			return nil, err
		}
		f.doubt = g.run.Journal.Process.Doubt(f.out.path)
	}
	loop := f.look
	if states {
		if err := f.watch(); err != nil { // watches are counted for each user, and a program may have used up all
			g.run.Opts.Log.Warn("states are looked for now and then", "run", g.run.ID, "error", err)
		}
		loop = f.loop
	}
	go func() {
		defer close(f.done)
		loop()
	}()
	return f, nil
}

func (f *follower) watch() error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the output of tofu: %w", err)
	}
	for _, path := range []string{f.out.path, f.errs.path, filepath.Dir(f.of.site.Space.StatePath())} {
		if err := watcher.Add(path); err != nil {
			watcher.Close()
			return fmt.Errorf("watch the output of tofu: %w", err)
		}
	}
	f.watcher = watcher
	return nil
}

// end is called when the process has ended: it reads the rest and returns what the process said.
func (f *follower) end() *plan.Stream {
	close(f.ended)
	<-f.done
	if f.watcher != nil {
		go f.watcher.Close() // the kernel takes some 20 ms to give up an inotify instance, as long as a tofu process takes
	}
	f.out.close()
	f.errs.close()
	f.of.Doubt = f.doubt
	return f.stream
}

// lookInterval is short beside the time that lines are gathered before they are shipped.
const lookInterval = 100 * time.Millisecond

// look reads the output now and then until the process has ended.
func (f *follower) look() {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.read(false)
		case <-f.ended:
			f.read(true)
			return
		}
	}
}

// loop reads states and output as they are written.
func (f *follower) loop() {
	f.read(false)
	var events chan fsnotify.Event
	var problems chan error
	var ticks <-chan time.Time
	if f.watcher != nil {
		events, problems = f.watcher.Events, f.watcher.Errors
	} else {
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		ticks = ticker.C
	}
	var offered, taken time.Time
	var due <-chan time.Time
	take := func() { // a program may write the state without end
		if wait := lookInterval - time.Since(taken); wait > 0 {
			if due == nil {
				due = time.After(wait)
			}
			return
		}
		f.offerState()
		taken = time.Now()
	}
	for {
		select {
		case <-ticks:
			f.read(false)
			if info, err := f.of.site.Space.Root.Lstat(f.of.site.Space.InModule(f.of.site.Space.StateIn())); err == nil && info.ModTime() != offered {
				offered = info.ModTime()
				take()
			}
		case <-due:
			due, taken = nil, time.Time{}
			take()
		case event, ok := <-events:
			if !ok {
				return
			}
			if event.Name == f.of.site.Space.StatePath() {
				take()
			} else if event.Name == f.out.path || event.Name == f.errs.path {
				f.read(false)
			}
		case _, ok := <-problems: // an overflow: reading everything makes up for it
			if !ok {
				return
			}
			take()
		case <-f.ended:
			f.read(true)
			if !f.withholds() {
				f.of.keeper.RescueStates()
			}
			return
		}
	}
}

// offerState takes the state, in an apply that plans, too, after what the plan says.
func (f *follower) offerState() {
	if f.of.Direct {
		f.read(false)
	}
	if !f.withholds() {
		f.of.keeper.OfferState()
	}
}

// withholds tells whether a state is none of the stack's: of a plan that found nothing to do there is to be none.
func (f *follower) withholds() bool { return f.of.Direct && FoundNothing(f.stream) }

// noteCut says that the output became shorter: a program got hold of tofu's descriptors, or the file was damaged. The log
// has what was read before.
func (f *follower) noteCut() {
	f.doubts("the output was cut off while it was read")
	f.of.run.Warn("The output of %s was cut off while it was read, by a program of the stack or by damage; the log keeps the lines from before", f.of.site.Space.Tool.Name)
}

// doubts remembers why lines of the output may be missing, the first reason.
func (f *follower) doubts(why string) { f.doubt = cmp.Or(f.doubt, why) }

// read takes in what was written since the last time.
func (f *follower) read(last bool) {
	f.out.lines(last, func(line []byte, known bool) { f.take(line, spool.ModuleStdout, known) })
	f.errs.lines(last, func(line []byte, known bool) { f.take(line, spool.ModuleStderr, known) })
	f.secure(last)
	f.out.release(f.of.run.Spec.Limits.LogBytes)
	f.errs.release(f.of.run.Spec.Limits.LogBytes)
}

// take handles one line: a dump of the state goes to the states, everything else masked to log and stream.
func (f *follower) take(line []byte, module string, known bool) {
	line, state := plan.TakeState(line)
	if len(state) > 0 {
		f.of.keeper.Rescued(state, "tofu could write it nowhere but in its output")
	}
	raw := line
	line = f.of.run.Mask.Line(line)
	event := plan.Event{Type: plan.Raw, Message: string(line)}
	if module == spool.ModuleStdout {
		if event = matched(plan.ParseEvent(line), line, raw); event.Type == plan.Raw {
			f.doubts("it has lines that cannot be read")
		}
	}
	f.stream.Add(event)
	if module == spool.ModuleStdout {
		f.of.Begun.Store(f.of.Direct && f.stream.Begun)
	}
	if event.Type == plan.ChangeSummary && f.of.Direct && !f.stream.ApplyDone {
		f.of.keepPlanned(f.stream)
	}
	if known {
		return
	}
	if event.Type == plan.Raw {
		level := "info"
		if module == spool.ModuleStderr {
			level = "error"
		}
		line = spool.Wrap(level, module, "", string(line))
	}
	f.of.run.Log.Append(line)
}

// linesInLog counts the lines of the recorded process that the log has, by where they came from.
func (g *Supervisor) linesInLog() (out, errs int, err error) {
	g.logStart = g.run.Journal.Process.LogStart
	file, err := os.Open(g.run.Dir.Path(spool.LogFile))
	if err != nil {
		return 0, 0, fmt.Errorf("read the run's log: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, g.logStart, g.run.Log.Length()-g.logStart))
	if err != nil {
		return 0, 0, fmt.Errorf("read the run's log: %w", err)
	}
	for line := range bytes.Lines(text) {
		var m struct {
			Module string `json:"@module"`
		}
		switch _ = json.Unmarshal(line, &m); m.Module { // what is no JSON has no module and is not from us
		case spool.ModuleYuba:
		case spool.ModuleStderr:
			errs++
		default:
			out++
		}
	}
	return out, errs, nil
}
