// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Step lets a user work in the working directory.
type Step struct {
	run     *execution.Run
	site    *execution.Site
	program *supervisor.Supervisor
	// mayApply asks the server whether the shell may begin.
	mayApply func(context.Context) error
	// Terminal is the user's terminal; nil without one.
	Terminal *Terminal
}

// New makes the step.
func New(t *execution.Run, at *execution.Site, program *supervisor.Supervisor, mayApply func(context.Context) error) *Step {
	return &Step{run: t, site: at, program: program, mayApply: mayApply}
}

// Steps returns the steps after init: lock the state, then run the shell.
func (s *Step) Steps() []execution.Step {
	return []execution.Step{{Name: execution.StepContinue, Do: s.mayApply}, {Name: run.StepApply, Do: s.handOver}}
}

// handOver runs the shell and ships every state that is written meanwhile.
func (s *Step) handOver(context.Context) error {
	t := s.Terminal
	if t == nil {
		return &fault.Failure{Outcome: run.OutcomeCanceled, Err: errors.New("the user's terminal is closed")}
	}
	if err := s.furnish(); err != nil {
		return err
	}
	err := s.program.ShipStates(func() error {
		s.run.Log.Note("%s", s.described())
		if t.Ready != nil {
			t.Ready()
		}
		defer s.endLeftovers()
		return s.runTerminal()
	})
	if err != nil {
		return err
	}
	s.run.Result.Text = fmt.Sprintf("It ended with exit code %d", t.ExitCode)
	s.run.Log.Note("%s", s.run.Result.Text)
	return nil
}

// described is the command for the log: the program and its subcommands, without arguments.
func (s *Step) described() string {
	words := s.Terminal.Command
	if len(words) == 0 {
		return "Shell"
	}
	text := filepath.Base(words[0])
	for _, word := range words[1:min(len(words), 3)] {
		if strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
			break
		}
		text += " " + word
	}
	return "Command: " + text
}

// runTerminal runs the shell, or the command, at the terminal.
func (s *Step) runTerminal() error {
	t := s.Terminal
	args := t.Command
	if len(args) == 0 {
		args = shellCommand(t)
	}
	if err := s.run.CheckNetwork(); err != nil {
		return err
	}
	path, err := s.lookPath(args[0])
	if err != nil {
		return fault.New(run.FailureConfiguration, "run %s in the shell: %w", args[0], err)
	}
	// The kernel ends the shell with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := &exec.Cmd{Path: path, Args: args, Dir: s.site.Space.Dir, Env: s.shellEnvironment(), Stdin: t.In, Stdout: t.Out, Stderr: t.Err,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := cmd.Start(); err != nil {
		return fault.New(run.FailureConfiguration, "run %s in the shell: %w", args[0], err)
	}
	p := &process.Process{Step: run.StepApply, PID: cmd.Process.Pid, Cmd: cmd, FD: -1, Limits: s.run.Spec.Limits, Note: s.run.Log.Note}
	s.run.Stop.Attach(p)
	err = cmd.Wait()
	s.run.Stop.Attach(nil)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		t.ExitCode = exit.ExitCode()
	case errors.As(err, &exit):
		t.ExitCode = 128
		if status, ok := exit.Sys().(syscall.WaitStatus); ok {
			t.ExitCode += int(status.Signal())
		}
	case err != nil:
		return fmt.Errorf("run %s in the shell: %w", args[0], err)
	}
	return nil
}

// shellCommand is the user's shell without its startup files.
func shellCommand(t *Terminal) []string {
	shell := cmp.Or(t.Shell, "/bin/sh")
	if !t.Interactive {
		return []string{shell}
	}
	switch filepath.Base(shell) {
	case "bash":
		return []string{shell, "--noprofile", "--norc", "-i"}
	case "zsh":
		return []string{shell, "-f", "-i"}
	}
	return []string{shell, "-i"}
}

// lookPath finds a program as the shell would.
func (s *Step) lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(s.shellPath()) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("the program is not in %s", s.shellPath())
}

func (s *Step) shellPath() string {
	return filepath.Join(s.site.Space.Base, workspace.ShellBin) + ":" + tools.SystemPath
}

// furnish prepares a home directory, the tool by its name, and tfvars files that all commands read.
func (s *Step) furnish() error {
	w := s.site.Space
	// The next run unpacks the source again.
	w.Record.Artifact, w.Record.Init = "", ""
	if err := w.Save(); err != nil {
		return err
	}
	for _, name := range []string{workspace.ShellBin, workspace.ShellHome} {
		if err := w.Root.MkdirAll(name, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "create a place for the shell: %w", err)
		}
	}
	name := workspace.ShellBin + "/" + w.Tool.Name
	if err := w.Write(name, []byte(s.wrapper())); err != nil {
		return err
	}
	if err := w.Root.Chmod(name, 0o700); err != nil {
		return fault.New("", "create a place for the shell: %w", err)
	}
	for i, file := range s.run.Spec.VarFiles {
		data, err := w.Read(workspace.SourceDir+"/"+file, maxVarFile)
		if err != nil {
			return fault.New(run.FailureConfiguration, "read the file of variables %s: %w", file, err)
		}
		if err := w.Write(w.InModule(autoVarFile(i, file)), data); err != nil {
			return err
		}
	}
	return nil
}

// maxVarFile limits a tfvars file.
const maxVarFile = 16 << 20

// autoVarFile names a copy that the tool reads automatically, after all others of the kind.
func autoVarFile(i int, name string) string {
	suffix := ".auto.tfvars"
	if strings.HasSuffix(name, ".json") {
		suffix += ".json"
	}
	return fmt.Sprintf("~yuba-%03d%s", i, suffix)
}

// wrapper is the shell's tofu: a script for the confined tool with the stack's environment.
func (s *Step) wrapper() string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, e := range s.site.Space.Env {
		name, value, _ := strings.Cut(e, "=")
		if !inShell(name) && !forPeople[name] && isName(name) {
			fmt.Fprintf(&b, "export %s=%s\n", name, shellQuote(value))
		}
	}
	b.WriteString("exec")
	cell := s.program.Cell()
	cell.Relay = s.run.Relay(nil)
	for _, word := range s.run.Walls.Line(cell, s.site.Space.Tool.Path) {
		b.WriteString(" " + shellQuote(word))
	}
	b.WriteString(" \"$@\"\n")
	return b.String()
}

// forPeople are variables that keep the tool from prompting; a user can answer.
var forPeople = map[string]bool{"TF_IN_AUTOMATION": true, "TF_INPUT": true}

// shellEnvironment is the environment of the shell.
func (s *Step) shellEnvironment() []string {
	stack := s.run.Spec.Stack.String()
	env := []string{
		"PATH=" + s.shellPath(), "HOME=" + filepath.Join(s.site.Space.Base, workspace.ShellHome), "LANG=C.UTF-8",
		"TERM=" + cmp.Or(s.Terminal.Term, "dumb"), "PS1=(yuba " + stack + ") $ ", "YUBA_STACK=" + stack, shellMark(s.run.ID),
	}
	for _, e := range s.site.Space.Env {
		if name, _, _ := strings.Cut(e, "="); inShell(name) && !forPeople[name] {
			env = append(env, e)
		}
	}
	return env
}

// shellMark is in the environment of all programs started from a shell.
func shellMark(id string) string { return "YUBA_RUN=" + id }

// data are suffixes of variables that contain plain data, such as AWS_SECRET_ACCESS_KEY. Other
// variables may make programs run something: PATH, LD_PRELOAD, KUBECONFIG, VIMINIT, TAR_OPTIONS.
var data = []string{"_ID", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_USER", "_USERNAME", "_ACCOUNT", "_PROJECT", "_REGION", "_ZONE", "_TENANT"}

// inShell reports whether a variable of the stack's environment is harmless in the user's shell.
func inShell(name string) bool {
	return isName(name) && !strings.HasPrefix(name, "YUBA") &&
		(strings.HasPrefix(name, "TF_") || slices.ContainsFunc(data, func(ending string) bool { return strings.HasSuffix(name, ending) }))
}

// isName reports whether it is a valid name of a shell variable.
func isName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// shellQuote quotes a word for a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
