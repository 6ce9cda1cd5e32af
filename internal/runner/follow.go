// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

// follower reads what a process writes as it is written: its output into the log and the stream, and its states into
// the spool. A state is taken the moment it is written, so its directory is watched. Output alone is looked for now and
// then: a watch costs more than a short process takes to plan, and people see lines some time later anyway.
type follower struct {
	job    *job
	stream *plan.Stream
	out    *tail
	errs   *tail
	// watcher is nil without states.
	watcher *fsnotify.Watcher
	ended   chan struct{}
	done    chan struct{}
}

// follow starts reading the output files of a step. Fresh is false for a process of a runner before: then the lines
// that are in the log already only go to the stream.
func (j *job) follow(step run.Step, states, fresh bool) (*follower, error) {
	f := &follower{job: j, stream: &plan.Stream{}, ended: make(chan struct{}), done: make(chan struct{})}
	// A line may be a whole state, when tofu could write it nowhere else; encoded it can be some larger than its file.
	limit := max(64<<20, 2*int(j.spec.Limits.StateBytes))
	f.out = &tail{path: j.spool.path(string(step) + ".out"), limit: limit}
	f.errs = &tail{path: j.spool.path(string(step) + ".err"), limit: limit}
	if fresh {
		j.logStart = j.log.length()
	} else {
		var err error
		if f.out.known, f.errs.known, err = j.linesInLog(); err != nil {
			return nil, err
		}
	}
	loop := f.look
	if states {
		if err := f.watch(); err != nil {
			return nil, err
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
	for _, path := range []string{f.out.path, f.errs.path, filepath.Dir(f.job.space.statePath())} {
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
	for {
		select {
		case event, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			if event.Name == f.job.space.statePath() {
				f.offerState()
			} else if event.Name == f.out.path || event.Name == f.errs.path {
				f.read(false)
			}
		case _, ok := <-f.watcher.Errors: // an overflow: reading everything makes up for it
			if !ok {
				return
			}
			f.offerState()
		case <-f.ended:
			f.read(true)
			if !f.withholds() {
				f.job.rescueStates()
			}
			return
		}
	}
}

// offerState takes the state, in an apply that plans, too, after what the plan says.
func (f *follower) offerState() {
	if f.job.direct {
		f.read(false)
	}
	if !f.withholds() {
		f.job.offerState()
	}
}

// withholds tells whether a state is none of the stack's: of a plan that found nothing to do there is to be none.
func (f *follower) withholds() bool { return f.job.direct && foundNothing(f.stream) }

// read takes in what was written since the last time.
func (f *follower) read(last bool) {
	f.out.lines(last, func(line []byte, known bool) { f.take(line, moduleStdout, known) })
	f.errs.lines(last, func(line []byte, known bool) { f.take(line, moduleStderr, known) })
	f.out.release(f.job.spec.Limits.LogBytes)
	f.errs.release(f.job.spec.Limits.LogBytes)
}

// take handles one line: a dump of the state goes to the states, everything else masked to log and stream.
func (f *follower) take(line []byte, module string, known bool) {
	line, state := plan.TakeState(line)
	if len(state) > 0 {
		f.job.rescued(state, "tofu could write it nowhere but in its output")
	}
	line = f.job.mask.line(line)
	event := plan.Event{Type: plan.Raw, Message: string(line)}
	if module == moduleStdout {
		event = f.stream.Feed(line)
	} else {
		f.stream.Add(event)
	}
	if known {
		return
	}
	if event.Type == plan.Raw {
		level := "info"
		if module == moduleStderr {
			level = "error"
		}
		line = wrap(level, module, "", string(line))
	}
	f.job.log.append(line)
}

// linesInLog counts the lines of the recorded process that the log has, by where they came from.
func (j *job) linesInLog() (out, errs int, err error) {
	j.logStart = j.journal.Process.LogStart
	file, err := os.Open(j.spool.path(logFile))
	if err != nil {
		return 0, 0, fmt.Errorf("read the run's log: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, j.logStart, j.log.length()-j.logStart))
	if err != nil {
		return 0, 0, fmt.Errorf("read the run's log: %w", err)
	}
	for line := range bytes.Lines(text) {
		var m struct {
			Module string `json:"@module"`
		}
		switch _ = json.Unmarshal(line, &m); m.Module { // what is no JSON has no module and is not from us
		case moduleYuba:
		case moduleStderr:
			errs++
		default:
			out++
		}
	}
	return out, errs, nil
}

// tail reads the lines of a growing file.
type tail struct {
	path     string
	limit    int
	known    int // so many lines were seen by the runner before
	file     *os.File
	offset   int64
	released int64
	rest     []byte
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// lines calls f for each line that is complete by now; the last one need not be.
func (t *tail) lines(last bool, f func(line []byte, known bool)) {
	if t.file == nil {
		file, err := os.OpenFile(t.path, os.O_RDWR, 0)
		if err != nil {
			return // the next call tries again
		}
		t.file = file
	}
	chunk := make([]byte, 32<<10)
	for {
		n, err := t.file.ReadAt(chunk, t.offset)
		t.offset += int64(n)
		t.rest = append(t.rest, chunk[:n]...)
		t.split(f)
		if n == 0 || (err != nil && !errors.Is(err, io.EOF)) {
			break
		}
	}
	if last && len(t.rest) > 0 {
		t.emit(t.rest, f)
		t.rest = nil
	}
}

func (t *tail) split(f func([]byte, bool)) {
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			break
		}
		t.emit(t.rest[:i], f)
		t.rest = t.rest[i+1:]
	}
	if len(t.rest) > t.limit { // not a line of tofu's; it goes on as several
		t.emit(t.rest, f)
		t.rest = nil
	}
}

func (t *tail) emit(line []byte, f func([]byte, bool)) {
	line = bytes.TrimRight(bytes.TrimLeft(line, "\x00"), "\r") // zeros: what a runner before has released
	if len(line) == 0 {
		return
	}
	t.known--
	f(bytes.Clone(line), t.known >= 0)
}

// release gives the disk space of what was read back once it is more than the log may hold anyway, so that endless
// output fills no disk.
func (t *tail) release(limit int64) {
	const step = 4 << 20
	if limit <= 0 || t.offset < limit || t.offset-t.released < step || t.file == nil {
		return
	}
	upTo := t.offset - int64(len(t.rest))
	upTo -= upTo % 4096
	if upTo > t.released && unix.Fallocate(int(t.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, t.released, upTo-t.released) == nil {
		t.released = upTo
	}
}
