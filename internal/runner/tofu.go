// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

// command is one call of tofu.
type command struct {
	step run.Step
	args []string
	// title is what messages call the command; empty for the step's name.
	title string
	// capture receives standard output instead of the log: documents, which hold what no log may.
	capture *bounded
	// unselected leaves the workspace out of the environment.
	unselected bool
	// states is true when the state file is to be shipped as it is written.
	states bool
	// reserve is how many bytes of disk are set aside for the output before the process starts.
	reserve int64
}

// bounded keeps what it is given up to its limit and drops the rest: the process that writes must not die of that. It
// is no bytes.Buffer, whose other ways to be written to know no limit.
type bounded struct {
	text  bytes.Buffer
	limit int64
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), b.limit-int64(b.text.Len()))
	b.over = b.over || keep < int64(len(p))
	b.text.Write(p[:keep])
	return len(p), nil
}

// Bytes is what was kept.
func (b *bounded) Bytes() []byte { return b.text.Bytes() }

// tofu runs one process to its end and returns what it said.
func (j *job) tofu(ctx context.Context, c command) (*plan.Stream, exit, error) {
	out, errs, err := j.outputFiles(c)
	if err != nil {
		return nil, exit{}, err
	}
	defer out.Close()
	defer errs.Close()
	f, err := j.follow(c.step, c.states, true)
	if err != nil {
		return nil, exit{}, err
	}
	p, err := j.start(c, out, errs)
	if err != nil {
		f.end()
		return nil, exit{}, err
	}
	j.processes.Add(1)
	e := p.wait()
	j.stop.attach(nil)
	j.processes.Add(-1)
	stream := f.end()
	j.orderly[c.step] = gaveBack(c.step, stream, e)
	j.addCPU(c.step, e.cpu)
	return stream, e, nil
}

// outputFiles makes the files that the process writes to. They are opened for appending, so that whoever else holds
// them cannot overwrite, and before the sandbox, which does not show them to tofu.
func (j *job) outputFiles(c command) (out, errs *os.File, err error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND
	out, err = os.OpenFile(j.spool.path(string(c.step)+".out"), flags, 0o600)
	if err != nil {
		return nil, nil, failed(run.FailureDisk, "open the output of tofu: %w", err)
	}
	errs, err = os.OpenFile(j.spool.path(string(c.step)+".err"), flags, 0o600)
	if err != nil {
		out.Close()
		return nil, nil, failed(run.FailureDisk, "open the output of tofu: %w", err)
	}
	if c.reserve > 0 {
		// tofu's last resort when it can write the state nowhere is its output: that must not fail on a full disk.
		_ = unix.Fallocate(int(out.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, c.reserve) // some file systems cannot
	}
	return out, errs, nil
}

// start starts the process in the sandbox and a session of its own, and writes down which it is.
func (j *job) start(c command, out, errs *os.File) (*process, error) {
	cmd := &exec.Cmd{
		Path:        j.opts.Sandbox,
		Args:        append(append([]string{j.opts.Sandbox, "-background"}, j.space.sandboxArgs(j)...), append([]string{"--", j.space.tool.path}, c.args...)...),
		Dir:         j.space.dir,
		Env:         j.economic(slices.Clone(j.space.env)),
		Stdout:      out,
		Stderr:      errs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if c.unselected {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "TF_WORKSPACE=") })
	}
	if c.capture != nil {
		cmd.Stdout = io.Writer(c.capture)
	}
	if err := cmd.Start(); err != nil {
		return nil, failed(run.FailureTool, "start %s: %w", j.opts.Sandbox, err)
	}
	p := &process{step: c.step, pid: cmd.Process.Pid, cmd: cmd, limits: j.spec.Limits, note: j.log.note}
	j.stop.attach(p) // from here on whoever ends the job ends it, too
	p.watchTime(0)
	j.mu.Lock()
	j.journal.Steps = j.result.Steps
	j.journal.Process = record(c.step, p.pid, j.logStart)
	j.saveJournal()
	j.mu.Unlock()
	return p, nil
}

// addCPU adds a process's time to the report of the running step.
func (j *job) addCPU(step run.Step, cpu time.Duration) {
	for i := range j.result.Steps {
		if j.result.Steps[i].Step == step {
			j.result.Steps[i].CPU += run.Duration(cpu)
			return
		}
	}
	j.result.Steps = append(j.result.Steps, run.StepReport{Step: step, CPU: run.Duration(cpu)})
}

// verdict turns the end of a process into an error, nil when its code is among the good ones.
func (j *job) verdict(c command, stream *plan.Stream, e exit, good ...int) error {
	name := j.space.tool.name + " " + orText(c.title, string(c.step))
	for _, code := range good {
		if e.signal == 0 && e.code == code {
			return nil
		}
	}
	outcome := run.OutcomeFailed
	if c.step == run.StepApply && (e.signal != 0 || !e.known) {
		outcome = run.OutcomeInterrupted
	}
	switch {
	case e.timedOut:
		return &failure{class: run.FailureLimit, outcome: outcome, err: fmt.Errorf("%s took longer than %s and was stopped%s", name, time.Duration(j.spec.Limits.Timeout), detail(stream))}
	case e.interrupted != "" && c.step != run.StepApply:
		return &failure{outcome: run.OutcomeCanceled, err: fmt.Errorf("%s was stopped: %s", name, e.interrupted)}
	case e.interrupted != "":
		return &failure{outcome: outcome, err: fmt.Errorf("%s was stopped: %s%s", name, e.interrupted, detail(stream))}
	case e.signal != 0:
		return &failure{class: run.FailureKilled, outcome: outcome, err: fmt.Errorf("%s was killed by signal %d (%s), which Yuba did not send%s", name, int(e.signal), e.signal, detail(stream))}
	case len(stream.Errors()) > 0:
		j.result.Lock = lockIn(stream)
		return &failure{class: classify(stream), said: stream.Errors(), err: errors.New(stream.Errors().Error())}
	default:
		return &failure{class: run.FailureTool, err: fmt.Errorf("%s ended with exit code %d%s", name, e.code, detail(stream))}
	}
}

func detail(stream *plan.Stream) string {
	if text := stream.Errors().Error(); text != "" {
		return ":\n" + text
	}
	if n := len(stream.Raw); n > 0 {
		return ":\n" + strings.Join(stream.Raw[max(0, n-10):], "\n")
	}
	return ""
}
