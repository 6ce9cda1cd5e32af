// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/shell"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// adoptShell takes over a run whose person is gone: what their process left is as good as a runner's. It returns false
// when there is nothing of the kind.
func (r *runner) adoptShell(ctx context.Context, id string) bool {
	left := filepath.Join(r.Opts.Dir, run.ShellDir, id)
	if _, err := os.Stat(left); err != nil {
		return false
	}
	if err := os.Rename(left, r.SpoolDir(id)); err != nil {
		r.Opts.Log.Error("taking over a person's shell", "run", id, "error", err)
		return false
	}
	adopted, err := r.adoptLeft(ctx, id)
	if err != nil {
		r.Opts.Log.Error("taking over a person's shell", "run", id, "error", err)
	}
	return adopted
}

// OpenShell carries out one run of run.OperationShell for the person at the terminal, and returns the exit code of what
// ran there and the run's result. This process is that run's runner until it ends; should it end in any other way, the
// machine's own runner takes over what it left.
func OpenShell(ctx context.Context, grant run.ShellGrant, version string, t *shell.Terminal) (int, run.Result, error) {
	opts, err := execution.Options{Dir: grant.Dir, WorkRoot: grant.WorkRoot, ProviderMirror: grant.ProviderMirror, ProviderStore: grant.ProviderStore, Tofu: grant.Tofu, Tools: grant.Tools,
		Sandbox: grant.Sandbox, Version: version, Log: slog.New(slog.DiscardHandler)}.WithDefaults()
	if err != nil {
		return 0, run.Result{}, err
	}
	if err := isHere(grant); err != nil {
		return 0, run.Result{}, &shell.NotHereError{Host: grant.Host, Dir: grant.Dir, Err: err}
	}
	dir := filepath.Join(opts.Dir, run.ShellDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, run.Result{}, fmt.Errorf("open a shell: %w", err)
	}
	lock := flock.New(filepath.Join(dir, run.ShellLock(grant.ID)))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return 0, run.Result{}, errors.Join(fmt.Errorf("open a shell: its run has been given up meanwhile. Try again"), err)
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks, too
	r := newRunner(opts)
	if err := r.OpenStores(); err != nil {
		return 0, run.Result{}, err
	}
	if err := r.buildWalls(ctx); err != nil {
		return 0, run.Result{}, err
	}
	j := r.newJob(grant.ID, grant.Token)
	j.run.Dir, j.shell.Terminal = spool.Dir{Root: filepath.Join(dir, grant.ID)}, t
	ctx, stop := j.mindSignals(ctx)
	defer stop()
	return j.serveTerminal(ctx)
}

// isHere says whether the server that granted the shell is the one that this machine's runner knows.
func isHere(grant run.ShellGrant) error {
	text, err := os.ReadFile(filepath.Join(grant.Dir, run.ConnectionFile))
	if err != nil {
		return err
	}
	var conn run.Connection
	if err := json.Unmarshal(text, &conn); err != nil {
		return fmt.Errorf("read %s: %w", run.ConnectionFile, err)
	}
	if conn.URL != grant.URL {
		return errors.New("it belongs to another Yuba")
	}
	return nil
}

// serveTerminal carries the run out. What the server does not have when ctx ends stays for the machine's runner.
func (j *job) serveTerminal(ctx context.Context) (int, run.Result, error) {
	needed, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := j.accept(ctx, needed); err != nil {
		return 0, j.run.Result, fmt.Errorf("open a shell: %w", err)
	}
	if err := j.open(ctx, true); err != nil {
		j.run.Fail(&fault.Failure{Step: run.StepPrepare, Class: run.FailureDisk, Err: err})
	} else {
		j.runSteps(ctx)
	}
	j.conclude(ctx)
	return j.shell.Terminal.ExitCode, j.run.Result, nil
}

// mindSignals keeps this process alive while what runs at the terminal decides what Ctrl-C means, and has it stop, in
// good order, when the terminal goes or somebody asks. The context ends when somebody insists: twice the same wish
// before or after the shell, when nothing is left but to wait for the server.
func (j *job) mindSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		wishes := 0
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				wishes = j.heed(s, wishes)
				if wishes > 1 {
					cancel()
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// heed does what a signal asks for, and counts the wishes to end that nobody but this process could fulfil.
func (j *job) heed(s os.Signal, wishes int) int {
	p := j.run.Stop.Attached()
	switch {
	case p != nil && p.Step == run.StepApply && (s == syscall.SIGINT || s == syscall.SIGQUIT):
		return wishes // the terminal gave it to the shell, too
	case p != nil && p.Step == run.StepApply:
		p.Signal(syscall.SIGHUP)
		return wishes
	}
	j.run.Stop.Ask("it was interrupted", true)
	if wishes == 1 && j.shell.Terminal.News != nil {
		j.shell.Terminal.News("What the server does not have yet is left to the runner.")
	}
	return wishes + 1
}
