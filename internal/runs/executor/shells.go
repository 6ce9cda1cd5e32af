// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// shellPatience is how long a person's process may take from asking for a shell to fetching its run.
const shellPatience = 30 * time.Second

func prepareShellDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("prepare the directory of shells: %w", err)
	}
	return nil
}

// watchShell sees to it that a shell's run ends when the process that carries it out does, however that ends: the
// process holds a file locked, and the kernel lets that go. What such a process left behind is taken over by the runner,
// which ships it and gives the run its result.
func (e *Executor) watchShell(en *entry) {
	if !e.awaitShell(en) {
		result := run.Result{Outcome: run.OutcomeCanceled, Error: "nobody came to the shell", Finished: time.Now().UTC()}
		if err := e.finish(context.Background(), en, result); err != nil {
			e.finishLater(context.Background(), en, result)
		}
		return
	}
	name := filepath.Join(e.opts.ShellDir, run.ShellLock(en.id))
	lock := flock.New(name)
	if err := lock.Lock(); err != nil {
		e.log.Error("watching a shell: the run stays in hand until this server starts anew", "stack", en.stack.String(), "run", en.id, "error", err)
		return
	}
	defer os.Remove(name)         //nolint:errcheck // a leftover harms nobody
	defer lock.Unlock()           //nolint:errcheck // nobody else wants it
	if e.inHand(en.stack) != en { // it ended in good order
		return
	}
	e.log.Warn("a person's shell is gone; the runner takes over what it left", "stack", en.stack.String(), "run", en.id)
	e.release(en)
}

// awaitShell waits until a person's process has fetched the run, for a while. One that was taken up from an earlier
// server has been, or never will be.
func (e *Executor) awaitShell(en *entry) bool {
	if en.resumed {
		return true
	}
	patience := time.NewTimer(e.shellPatience())
	defer patience.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		e.mu.Lock()
		begun := en.started || e.byStack[en.stack] != en
		e.mu.Unlock()
		if begun {
			return true
		}
		select {
		case <-tick.C:
		case <-patience.C:
			return false
		}
	}
}

func (e *Executor) shellPatience() time.Duration {
	if e.opts.ShellPatience > 0 {
		return e.opts.ShellPatience
	}
	return shellPatience
}
