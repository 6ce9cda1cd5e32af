// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Local keeps one runner process beside the server. The runner of an earlier server continues. It
// has its own session, so that neither Ctrl-C nor the server's end affects it.
type Local struct {
	// Dir is the runner's directory. A living runner holds RunnerLock in it.
	Dir string
	Log *slog.Logger

	command, env []string
	mark         string
}

// Use sets the runner's command and its whole environment. Call it before Run.
func (l *Local) Use(version string, command, env []string) error {
	mark, err := Mark(version, command)
	if err != nil {
		return err
	}
	l.mark, l.command, l.env = mark, append(slices.Clone(command), "--build", mark), env
	return nil
}

// Mark identifies a runner's version, program and arguments.
func Mark(version string, command []string) (string, error) {
	program, err := os.Stat(command[0])
	if err != nil {
		return "", fmt.Errorf("inspect the runner's program: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %d %d", version, command, program.Size(), program.ModTime().UnixNano())
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// Starts reports whether Run would start a runner with this mark.
func (l *Local) Starts(mark string) bool { return mark == l.mark }

// Keeps reports whether the home is the local one. Another runner always follows there, and only
// that one knows the outcome of the runs, because tofu outlives its runner.
func (l *Local) Keeps(home string) bool { return home == run.HomeLocal }

// Place reports that the local home has the runs without a place.
func (l *Local) Place(home string) (key string, ok bool) { return "", home == run.HomeLocal }

// Hinders is always empty: a runner that ended is started again.
func (l *Local) Hinders(string) string { return "" }

// Misses is always empty, for the same reason.
func (l *Local) Misses(string) string { return "" }

// RunnerLock is the file that a living runner holds locked.
const RunnerLock = "lock"

// WriteConnection atomically writes the server's address for the runner.
func (l *Local) WriteConnection(c run.Connection) error {
	c.Home = run.HomeLocal
	name := filepath.Join(l.Dir, run.ConnectionFile)
	data, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(l.Dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(name+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("write the runner's connection: %w", err)
	}
	return nil
}

// ReadCredential returns the credential of the last connection, or "". A restarted server keeps it,
// so that it accepts the earlier server's runner at once.
func (l *Local) ReadCredential() (string, error) {
	data, err := os.ReadFile(filepath.Join(l.Dir, run.ConnectionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the runner's connection: %w", err)
	}
	var c run.Connection
	if err := json.Unmarshal(data, &c); err != nil {
		return "", nil //nolint:nilerr // a broken file is replaced
	}
	return c.Credential, nil
}

// Run keeps a runner alive until ctx ends. It restarts one that keeps dying ever more slowly.
func (l *Local) Run(ctx context.Context, runs backend.Demand) error {
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		if err := l.runOnce(ctx); err != nil {
			l.Log.Error("the runner ended", "error", err)
		}
		if ctx.Err() == nil {
			runs.Ended(run.HomeLocal, "")
		}
		if time.Since(began) > time.Minute {
			pause = 100 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 30*time.Second)
	}
	return nil
}

// runOnce waits for the end of the living runner, or starts one and waits for its end.
func (l *Local) runOnce(ctx context.Context) error {
	lock := flock.New(filepath.Join(l.Dir, RunnerLock))
	free, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("find a living runner: %w", err)
	}
	if !free {
		return awaitLock(ctx, lock)
	}
	if err := lock.Unlock(); err != nil {
		return fmt.Errorf("find a living runner: %w", err)
	}
	return l.start(ctx)
}

// awaitLock waits for a runner that is not our child: the kernel wakes the blocked lock call.
func awaitLock(ctx context.Context, lock *flock.Flock) error {
	return await(ctx, func() error {
		err := lock.Lock()
		return errors.Join(err, lock.Unlock())
	})
}

// await waits until wait returns, or ctx ends.
func await(ctx context.Context, wait func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (l *Local) start(ctx context.Context) error {
	out, err := os.OpenFile(filepath.Join(l.Dir, "runner.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the runner: %w", err)
	}
	defer out.Close() //nolint:errcheck // the child has its own
	cmd := exec.Command(l.command[0], l.command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = l.env, l.Dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the runner (%s): %w", strings.Join(l.command, " "), err)
	}
	if err := await(ctx, cmd.Wait); err != nil {
		return fmt.Errorf("runner: %w; see %s", err, out.Name())
	}
	return nil
}
