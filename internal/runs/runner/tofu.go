// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// command is one call of tofu.
type command struct {
	step run.Step
	args []string
	// title is what messages call the command; empty for the step's name.
	title string
	// capture receives standard output instead of the log: documents, which hold what no log may.
	capture *fetch.Bounded
	// unselected leaves the workspace out of the environment.
	unselected bool
	// states is true when the state file is to be shipped as it is written.
	states bool
	// reserve is how many bytes of disk are set aside for the output before the process starts.
	reserve int64
	// timeout is less than the run's own; zero for that.
	timeout time.Duration
}

// tofu runs one process to its end and returns what it said.
func (g *supervisor) tofu(ctx context.Context, c command) (*plan.Stream, process.Exit, error) {
	out, errs, err := g.outputFiles(c)
	if err != nil {
		return nil, process.Exit{}, err
	}
	defer out.Close()
	defer errs.Close()
	f, err := g.follow(c.step, c.states, true)
	if err != nil {
		return nil, process.Exit{}, err
	}
	p, err := g.start(c, out, errs)
	if err != nil {
		f.end()
		return nil, process.Exit{}, err
	}
	g.task.processes.Add(1)
	done := g.task.meter.Watch(g.measured(), p, g.site.measuredDirs())
	e := p.Wait()
	done()
	g.task.stop.attach(nil)
	g.task.processes.Add(-1)
	planned := c.step == run.StepPlan && e.Code == 2 // there are changes
	if e.Exceeded == "" && (e.Code != 0 && !planned || e.Signal != 0) {
		e.Exceeded = g.measured().OverDisk(g.site.measuredDirs())
	}
	stream := f.end()
	g.orderly[c.step] = gaveBack(c.step, stream, e)
	g.addCPU(c.step, e.CPU)
	return stream, e, nil
}

// outputFiles makes the files that the process writes to. They are opened for appending, so that whoever else holds
// them cannot overwrite, and before the sandbox, which does not show them to tofu.
func (g *supervisor) outputFiles(c command) (out, errs *os.File, err error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND
	out, err = os.OpenFile(g.task.Dir.Path(string(c.step)+spool.OutEnd), flags, 0o600)
	if err != nil {
		return nil, nil, fault.New(run.FailureDisk, "open the output of tofu: %w", err)
	}
	errs, err = os.OpenFile(g.task.Dir.Path(string(c.step)+spool.ErrEnd), flags, 0o600)
	if err != nil {
		out.Close()
		return nil, nil, fault.New(run.FailureDisk, "open the output of tofu: %w", err)
	}
	g.reserve, g.secured = c.reserve, 0
	if c.reserve > 0 {
		// tofu's last resort when it can write the state nowhere is its output: that must not fail on a full disk.
		g.secured = setAside(int(out.Fd()), 0, c.reserve)
	}
	return out, errs, nil
}

// start starts the process in the sandbox and a session of its own, and writes down which it is.
func (g *supervisor) start(c command, out, errs *os.File) (*process.Process, error) {
	if err := g.task.checkNetwork(); err != nil {
		return nil, err
	}
	cell := g.cell()
	cell.Environment = meter.Economic(slices.Clone(g.site.space.Env), len(g.task.places), g.task.opts.Capacity)
	if c.unselected {
		cell.Environment = slices.DeleteFunc(cell.Environment, func(e string) bool { return strings.HasPrefix(e, "TF_WORKSPACE=") })
	}
	cmd := g.task.walls.Command(context.Background(), cell, g.site.space.Tool.Path, c.args...)
	cmd.Stdout, cmd.Stderr = out, errs
	if c.capture != nil {
		cmd.Stdout = io.Writer(c.capture)
	}
	running, err := confinement.Start(cmd)
	if err != nil {
		return nil, fault.New(run.FailureTool, "start %s: %w", g.task.opts.Sandbox, err)
	}
	p := &process.Process{Step: c.step, PID: cmd.Process.Pid, Cmd: cmd, Running: running, Captured: c.capture != nil, Limits: g.task.spec.Limits, Note: g.task.log.Note, Begun: g.beginning(), EndLeft: g.task.endLeft()}
	if c.timeout > 0 {
		p.Limits.Timeout = run.Duration(c.timeout)
		p.Limits.Grace = min(p.Limits.Grace, p.Limits.Timeout) // nobody waits longer for the end of a look than for the look
	}
	g.task.stop.attach(p) // from here on whoever ends the job ends it, too
	p.WatchTime(0)
	g.task.Lock()
	g.task.Journal.Steps = g.task.result.Steps
	g.task.Journal.Process = process.Identify(c.step, p.PID, g.logStart)
	g.task.Journal.Process.Mount, g.task.Journal.Process.Secured = process.MountID(g.task.Dir.Path(string(c.step)+spool.OutEnd)), g.secured
	g.task.SaveJournal()
	g.task.Unlock()
	return p, nil
}

// addCPU adds a process's time to the report of the running step.
func (g *supervisor) addCPU(step run.Step, cpu time.Duration) {
	for i := range g.task.result.Steps {
		if g.task.result.Steps[i].Step == step {
			g.task.result.Steps[i].CPU += run.Duration(cpu)
			return
		}
	}
	g.task.result.Steps = append(g.task.result.Steps, run.StepReport{Step: step, CPU: run.Duration(cpu)})
}

// verdict turns the end of a process into an error, nil when its code is among the good ones.
func (g *supervisor) verdict(c command, stream *plan.Stream, e process.Exit, good ...int) error {
	name := g.site.space.Tool.Name + " " + cmp.Or(c.title, string(c.step))
	for _, code := range good {
		if code == 2 && !stream.PlanDone && g.doubt == "" { // a Go program that crashes, for want of memory say, ends with 2, too
			continue
		}
		if e.Signal == 0 && e.Code == code && !e.Held {
			return nil
		}
	}
	outcome := run.OutcomeFailed
	if c.step == run.StepApply && (e.Signal != 0 || !e.Known) {
		outcome = run.OutcomeInterrupted
	}
	switch {
	case e.Held: // it could have written there, too
		return &fault.Failure{Class: run.FailureTool, Outcome: outcome, Err: fmt.Errorf("%s has ended, but a program that it started keeps its output open: "+
			"what was printed there cannot be trusted. Look for a provider, a key provider or an external program that leaves a process behind", name)}
	case e.Exceeded != "":
		return &fault.Failure{Class: run.FailureLimit, Outcome: outcome, Err: fmt.Errorf("%s was stopped: %s%s", name, e.Exceeded, detail(stream))}
	case e.TimedOut:
		return &fault.Failure{Class: run.FailureLimit, Outcome: outcome, Err: fmt.Errorf("%s took longer than %s and was stopped%s", name, cmp.Or(max(0, c.timeout), time.Duration(g.task.spec.Limits.Timeout)), detail(stream))}
	case e.Interrupted != "" && c.step != run.StepApply:
		return &fault.Failure{Outcome: run.OutcomeCanceled, Err: fmt.Errorf("%s was stopped: %s", name, e.Interrupted)}
	case e.Interrupted != "":
		return &fault.Failure{Class: g.whoseWish(), Outcome: outcome, Err: fmt.Errorf("%s was stopped: %s%s", name, e.Interrupted, detail(stream))}
	case e.Signal != 0:
		return &fault.Failure{Class: run.FailureKilled, Outcome: outcome, Err: fmt.Errorf("%s was killed by signal %d (%s), which Yuba did not send%s", name, int(e.Signal), e.Signal, detail(stream))}
	case len(stream.Errors()) > 0:
		g.task.result.Lock = lockIn(stream)
		return &fault.Failure{Class: classify(stream), Said: stream.Errors(), Err: errors.New(stream.Errors().Error())}
	case lockIn(stream) != nil:
		g.task.result.Lock = lockIn(stream)
		return &fault.Failure{Class: run.FailureLocked, Err: fmt.Errorf("%s ended with exit code %d%s", name, e.Code, detail(stream))}
	default:
		return &fault.Failure{Class: run.FailureTool, Err: fmt.Errorf("%s ended with exit code %d%s", name, e.Code, detail(stream))}
	}
}

func detail(stream *plan.Stream) string {
	if text := stream.Errors().Error(); text != "" {
		return ":\n" + text
	}
	if lines := lastWords(stream.Raw); len(lines) > 0 {
		return ":\n" + strings.Join(lines, "\n")
	}
	return ""
}

// aTrace begins the trace of calls that a crashed program prints last, below the cause of the crash.
var aTrace = regexp.MustCompile(`^goroutine \d+ \[`)

// lastWords are the lines that tell why a program ended.
func lastWords(raw []string) []string {
	trace := slices.IndexFunc(raw, aTrace.MatchString)
	if trace < 0 {
		return raw[max(0, len(raw)-10):]
	}
	var cause []string
	for _, line := range slices.Backward(raw[:trace]) {
		if strings.HasPrefix(line, "!!!") || len(cause) == 3 { // what tofu asks of people whom it crashed for ends so
			break
		}
		if strings.TrimSpace(line) != "" {
			cause = append([]string{line}, cause...)
		}
	}
	return cause
}
