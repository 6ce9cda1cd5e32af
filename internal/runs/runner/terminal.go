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

// adoptShell takes over a user's shell whose process died. It reports false if there is none.
func (r *runner) adoptShell(ctx context.Context, id string) bool {
	left := filepath.Join(r.Opts.Dir, run.ShellDir, id)
	if _, err := os.Stat(left); err != nil {
		return false
	}
	if err := os.Rename(left, r.SpoolDir(id)); err != nil {
		r.Opts.Log.Error("cannot take over a user's shell", "run", id, "error", err)
		return false
	}
	adopted, err := r.adoptLeft(ctx, id)
	if err != nil {
		r.Opts.Log.Error("cannot take over a user's shell", "run", id, "error", err)
	}
	return adopted
}

// OpenShell executes a run of run.OperationShell at the terminal. It returns the shell's exit code
// and the run's result. If this process dies, the machine's runner takes the run over.
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
		return 0, run.Result{}, errors.Join(fmt.Errorf("open a shell: its run was canceled meanwhile. Try again"), err)
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

// isHere checks that this machine's runner belongs to the server that granted the shell.
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
		return errors.New("it belongs to another Yuba server")
	}
	return nil
}

// serveTerminal executes the run. If ctx ends, the machine's runner delivers the rest.
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

// mindSignals leaves Ctrl-C to the program at the terminal, and stops it if the terminal closes. A
// second signal outside of the shell ends the context.
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

// heed handles a signal, and counts those that apply to this process.
func (j *job) heed(s os.Signal, wishes int) int {
	p := j.run.Stop.Attached()
	switch {
	case p != nil && p.Step == run.StepApply && (s == syscall.SIGINT || s == syscall.SIGQUIT):
		return wishes // the terminal sends it to the shell, too
	case p != nil && p.Step == run.StepApply:
		p.Signal(syscall.SIGHUP)
		return wishes
	}
	j.run.Stop.Ask("it was interrupted", true)
	if wishes == 1 && j.shell.Terminal.News != nil {
		j.shell.Terminal.News("The runner delivers the rest to the server.")
	}
	return wishes + 1
}
