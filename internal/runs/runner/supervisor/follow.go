// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// follower copies a process's output to log and stream, and its states to the spool. States must be
// shipped at once, so it watches for them. It polls output alone: a watch outlasts a short plan.
type follower struct {
	of     *Supervisor
	stream *plan.Stream
	out    *tail
	errs   *tail
	// watcher is nil without states, and if the kernel refuses one.
	watcher *fsnotify.Watcher
	ended   chan struct{}
	done    chan struct{}
	// doubt says why output lines may be missing; empty if there are none.
	doubt string
}

// follow starts to read the output of a step. If fresh is false, the process is adopted, and lines
// already in the log go to the stream only.
func (g *Supervisor) follow(step run.Step, states, fresh bool) (*follower, error) {
	f := &follower{of: g, stream: &plan.Stream{}, ended: make(chan struct{}), done: make(chan struct{})}
	// A line may be an encoded state that tofu could not write to a file.
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
		if err := f.watch(); err != nil { // programs may have used up the user's watches
			g.run.Opts.Log.Warn("cannot watch for states; polling instead", "run", g.run.ID, "error", err)
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

// end reads the rest after the process has ended, and returns its events.
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

// lookInterval is shorter than the interval in which the log is shipped.
const lookInterval = 100 * time.Millisecond

// look polls the output until the process has ended.
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
	take := func() { // limits the rate for a program that writes states all the time
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
		case _, ok := <-problems: // after an overflow everything is read
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

// offerState ships the state. In an apply that plans, it reads the plan first.
func (f *follower) offerState() {
	if f.of.Direct {
		f.read(false)
	}
	if !f.withholds() {
		f.of.keeper.OfferState()
	}
}

// withholds reports whether the state must not be shipped: a plan without changes leaves none.
func (f *follower) withholds() bool { return f.of.Direct && FoundNothing(f.stream) }

// noteCut reports output that became shorter: a program truncated it, or the file was damaged.
func (f *follower) noteCut() {
	f.doubts("the output was truncated while it was read")
	f.of.run.Warn("The output of %s was truncated while it was read, by a program of the stack or by damage; the log has the earlier lines", f.of.site.Space.Tool.Name)
}

// doubts records the first reason why lines may be missing.
func (f *follower) doubts(why string) { f.doubt = cmp.Or(f.doubt, why) }

// read reads everything that is new.
func (f *follower) read(last bool) {
	f.out.lines(last, func(line []byte, known bool) { f.take(line, spool.ModuleStdout, known) })
	f.errs.lines(last, func(line []byte, known bool) { f.take(line, spool.ModuleStderr, known) })
	f.of.run.LookForRefusals()
	f.secure(last)
	f.out.release(f.of.run.Spec.Limits.LogBytes)
	f.errs.release(f.of.run.Spec.Limits.LogBytes)
}

// take handles one line. A state in it goes to the spool, the rest masked to log and stream.
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

// linesInLog counts the lines of the recorded process in the log, by output file.
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
		switch _ = json.Unmarshal(line, &m); m.Module { // other text has no module
		case spool.ModuleYuba:
		case spool.ModuleStderr:
			errs++
		default:
			out++
		}
	}
	return out, errs, nil
}

// FollowLeft follows an apply of an earlier runner to its end. p is nil if the process has ended.
func (g *Supervisor) FollowLeft(p *process.Process) (*plan.Stream, process.Exit, error) {
	g.run.Processes.Add(1)
	defer g.run.Processes.Add(-1)
	if p != nil && g.Direct {
		p.Begun = g.beginning()
		g.Begun.Store(g.hadBegun())
	}
	g.run.Stop.Attach(p)
	f, err := g.follow(run.StepApply, g.run.Spec.Backend.Kind == run.BackendManaged, false)
	if err != nil {
		if p != nil { // its state is taken when it has ended
			p.Wait()
			g.run.Stop.Attach(nil)
		}
		return nil, process.Exit{}, err
	}
	if g.run.Journal.Process.Step != run.StepApply { // a later step had begun: the log has all of the apply
		f.out.known, f.errs.known = math.MaxInt, math.MaxInt
	}
	var e process.Exit
	if p != nil {
		p.WatchTime(g.run.Journal.Process.Age())
		g.watchRelay(g.run.Journal.Process)
		done := g.run.Meter.Watch(g.Measured(), p, g.site.MeasuredDirs())
		e = p.Wait()
		done()
		g.run.Stop.Attach(nil)
	}
	stream := f.end()
	g.Orderly[run.StepApply] = gaveBack(run.StepApply, stream, e)
	return stream, e, nil
}

// ShipStates ships every state written while work runs, and logs that an apply began.
func (g *Supervisor) ShipStates(work func() error) error {
	out, errs, err := g.outputFiles(Command{Step: run.StepApply})
	if err != nil {
		return err
	}
	out.Close()
	errs.Close()
	if err := g.BeginApply(); err != nil {
		return err
	}
	f, err := g.follow(run.StepApply, g.run.Spec.Backend.Kind == run.BackendManaged, true)
	if err != nil {
		return err
	}
	defer f.end()
	return work()
}
