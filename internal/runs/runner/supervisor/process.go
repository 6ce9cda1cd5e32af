// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/identity"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Command is one call of tofu.
type Command struct {
	Step run.Step
	Args []string
	// Title names the command in messages; empty for the step's name.
	Title string
	// Stdin is the input of each start; nil for none.
	Stdin []byte
	// Capture receives standard output instead of the log, for documents with sensitive values, and
	// Complaints standard error. Both begin anew with each start.
	Capture, Complaints *fetch.Bounded
	// Unselected leaves the workspace out of the environment.
	Unselected bool
	// Env is added to the environment.
	Env []string
	// States is true if states are shipped while the process runs.
	States bool
	// Reserve is the disk space to allocate for the output.
	Reserve int64
	// Timeout replaces the run's timeout if it is set.
	Timeout time.Duration
}

// Tofu runs one process to its end and returns its events.
func (g *Supervisor) Tofu(ctx context.Context, c Command) (*plan.Stream, process.Exit, error) {
	out, errs, err := g.outputFiles(c)
	if err != nil {
		return nil, process.Exit{}, err
	}
	defer out.Close()
	defer errs.Close()
	f, err := g.follow(c.Step, c.States, true)
	if err != nil {
		return nil, process.Exit{}, err
	}
	p, err := g.start(c, out, errs)
	if err != nil {
		f.end()
		return nil, process.Exit{}, err
	}
	g.run.Processes.Add(1)
	done := g.run.Meter.Watch(g.Measured(), p, g.site.MeasuredDirs())
	e := p.Wait()
	done()
	g.run.Stop.Attach(nil)
	g.run.Processes.Add(-1)
	planned := c.Step == run.StepPlan && e.Code == 2 // there are changes
	if e.Exceeded == "" && (e.Code != 0 && !planned || e.Signal != 0) {
		e.Exceeded = g.Measured().OverDisk(g.site.MeasuredDirs())
	}
	stream := f.end()
	g.run.TakeRefusals()
	g.Orderly[c.Step] = gaveBack(c.Step, stream, e)
	g.addCPU(c.Step, e.CPU)
	return stream, e, nil
}

// outputFiles creates append-only output files outside the sandbox: programs cannot overwrite them.
func (g *Supervisor) outputFiles(c Command) (out, errs *os.File, err error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_APPEND
	out, err = os.OpenFile(g.run.Dir.Path(string(c.Step)+spool.OutEnd), flags, 0o600)
	if err != nil {
		return nil, nil, fault.New(run.FailureDisk, "open the output of tofu: %w", err)
	}
	errs, err = os.OpenFile(g.run.Dir.Path(string(c.Step)+spool.ErrEnd), flags, 0o600)
	if err != nil {
		out.Close()
		return nil, nil, fault.New(run.FailureDisk, "open the output of tofu: %w", err)
	}
	g.reserve, g.secured = c.Reserve, 0
	if c.Reserve > 0 {
		// tofu prints a state that it cannot write to a file: a full disk must not prevent that.
		g.secured = setAside(int(out.Fd()), 0, c.Reserve)
	}
	return out, errs, nil
}

// start starts the process in the sandbox, in its own session, and records it.
func (g *Supervisor) start(c Command, out, errs *os.File) (*process.Process, error) {
	if err := g.run.CheckNetwork(); err != nil {
		return nil, err
	}
	report, err := g.run.OpenReport()
	if err != nil {
		return nil, err
	}
	if report != nil {
		defer report.Close()
	}
	cell := g.Cell()
	cell.Relay = g.Connection.Relay(g.run.Relay(report))
	cell.Environment = usage.Economic(slices.Clone(g.site.Space.Env), len(g.run.Places), g.run.Opts.Capacity)
	if name, _, _ := strings.Cut(fetch.Patience, "="); g.Connection != nil && !slices.ContainsFunc(cell.Environment, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
		cell.Environment = append(cell.Environment, fetch.Patience)
	}
	cell.Environment = append(cell.Environment, c.Env...)
	if c.Unselected {
		cell.Environment = slices.DeleteFunc(cell.Environment, func(e string) bool { return strings.HasPrefix(e, "TF_WORKSPACE=") })
	}
	cmd := g.run.Walls.Command(context.Background(), cell, g.site.Space.Tool.Path, c.Args...)
	cmd.Stdout, cmd.Stderr = out, errs
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	if c.Capture != nil {
		c.Capture.Reset()
		cmd.Stdout = c.Capture
	}
	if c.Complaints != nil {
		c.Complaints.Reset()
		cmd.Stderr = c.Complaints
	}
	started, err := g.run.Walls.StartRelay(cell, cmd)
	if err != nil {
		return nil, fault.New(run.FailureTool, "%w", err)
	}
	defer started()
	running, err := confinement.Start(cmd)
	if err != nil {
		return nil, fault.New(run.FailureTool, "start %s: %w", g.run.Opts.Sandbox, err)
	}
	p := &process.Process{Step: c.Step, PID: cmd.Process.Pid, Cmd: cmd, Running: running, Captured: c.Capture != nil, Limits: g.run.Spec.Limits, Note: g.run.Log.Note, Begun: g.beginning(), EndLeft: g.run.EndLeft()}
	if c.Timeout > 0 {
		p.Limits.Timeout = run.Duration(c.Timeout)
		p.Limits.Grace = min(p.Limits.Grace, p.Limits.Timeout)
	}
	g.run.Stop.Attach(p) // from here on a request to stop applies to it
	p.WatchTime(0)
	g.run.Lock()
	g.run.Journal.Steps = slices.Clone(g.run.Result.Steps)
	g.run.Journal.Process = process.Identify(c.Step, p.PID, g.logStart)
	g.run.Journal.Process.Mount, g.run.Journal.Process.Secured = process.MountID(g.run.Dir.Path(string(c.Step)+spool.OutEnd)), g.secured
	if cell.Relay != nil {
		g.run.Journal.Process.Relay = process.Identify(c.Step, cell.Relay.PID, 0)
	}
	g.run.SaveJournal()
	g.run.Unlock()
	return p, nil
}

// addCPU adds a process's time to the report of the running step.
func (g *Supervisor) addCPU(step run.Step, cpu time.Duration) {
	for i := range g.run.Result.Steps {
		if g.run.Result.Steps[i].Step == step {
			g.run.Result.Steps[i].CPU += run.Duration(cpu)
			return
		}
	}
	g.run.Result.Steps = append(g.run.Result.Steps, run.StepReport{Step: step, CPU: run.Duration(cpu)})
}

// Cell is what tofu has access to.
func (g *Supervisor) Cell() confinement.Cell {
	w := g.site.Space
	executable := append([]string{w.Tool.Path}, fetch.SystemExecutable...)
	executable = append(append(executable, g.Mirrors()...), g.run.Opts.Show...)
	home := filepath.Join(w.Base, workspace.HomeDir) // also at its own path, which is next to the working directory
	return confinement.Cell{
		User: w.Record.User, Dir: w.Dir, Home: home, Temp: w.Temp, Mark: confinement.Mark(g.run.ID),
		Writable:   append([]string{filepath.Join(w.Base, workspace.SourceDir), filepath.Join(w.Base, workspace.PlanDir), home}, fetch.SystemWritable...),
		Executable: executable,
		Readable:   append(g.readableHere(), fetch.SystemReadable...),
		NoNetwork:  g.run.Spec.Limits.Network == run.NoNetwork, Listen: g.run.Spec.Limits.Listen,
		Limits: usage.ProcessLimits(g.run.Spec.Limits, g.run.Walls, g.run.Opts.Pod), Background: true,
	}
}

// clusterToken is the directory of the token of a Pod's service account.
const clusterToken = "/var/run/secrets/kubernetes.io/serviceaccount"

// readableHere are the files that tofu may read besides those of the system.
func (g *Supervisor) readableHere() []string {
	paths := []string{filepath.Join(g.site.Space.Base, workspace.CLIConfigName), filepath.Join(g.site.Space.Base, workspace.GivenDir)}
	if g.run.Opts.Pod { // tofu acts as the Pod's service account
		paths = append(paths, clusterToken)
	}
	return paths
}

// addCluster adds the variables by which clients in a Pod find the API.
func addCluster(env map[string]string) {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
}

// Environment returns tofu's environment. The spec cannot replace variables of the runner.
func (g *Supervisor) Environment() []string {
	w, spec, cell := g.site.Space, &g.run.Spec, g.Cell()
	own := map[string]string{
		"PATH": tools.SystemPath,
		"HOME": g.run.Walls.HomeOf(cell), "TMPDIR": g.run.Walls.TempOf(cell), "LANG": "C.UTF-8",
		"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1",
		"TF_CLI_CONFIG_FILE": filepath.Join(w.Base, workspace.CLIConfigName),
	}
	if account := g.run.Walls.Account(); account != "" { // /etc/passwd may not have it
		own["USER"], own["LOGNAME"] = account, account
	}
	// A custom backend may not have a workspace "default".
	if !w.Own || w.Named != "default" {
		own["TF_WORKSPACE"] = w.Named
	}
	if g.run.HomeLink {
		own["HOME"] = confinement.HomePath
	}
	if g.run.Opts.Pod {
		addCluster(own)
	}
	env := make([]string, 0, len(own)+len(spec.Env))
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	for _, e := range spec.Env {
		if _, taken := own[e.Name]; !taken && e.Name != "" && e.Name != "TF_DATA_DIR" && e.Name != "TF_WORKSPACE" && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	for _, e := range identity.Environment(spec.Identities, w.Base, g.run.Opts.Pod) {
		_, taken := own[e.Name]
		if !taken && !slices.ContainsFunc(spec.Env, func(have run.EnvVar) bool { return have.Name == e.Name }) {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	slices.Sort(env)
	return env
}
