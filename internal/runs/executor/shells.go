// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// watchShell hands a shell's run to the runner when the person's process ends, however that
// happens: the kernel then unlocks its file. The runner ships the shell's states and log.
func (m *manual) watchShell(en *entry) {
	if !m.awaitShell(en) {
		result := run.Result{Outcome: run.OutcomeCanceled, Error: "no one connected to the shell", Finished: time.Now().UTC()}
		if err := m.ending.finish(context.Background(), en, result); err != nil {
			m.ending.finishLater(context.Background(), en, result)
		}
		return
	}
	name := filepath.Join(m.opts.ShellDir, run.ShellLock(en.id))
	lock := flock.New(name)
	if err := lock.Lock(); err != nil {
		m.opts.Log.Error("cannot watch a shell: its run stays active until this server restarts", "stack", en.stack.String(), "run", en.id, "error", err)
		return
	}
	defer os.Remove(name)          //nolint:errcheck // a leftover is harmless
	defer lock.Unlock()            //nolint:errcheck // only the shell and this server lock it
	if m.hand.of(en.stack) != en { // it ended normally
		return
	}
	m.opts.Log.Warn("a shell ended unexpectedly; the runner ships its states and log", "stack", en.stack.String(), "run", en.id)
	m.release(en)
}

// awaitShell waits until the person's process has fetched the run, for a limited time. It does not
// wait for a run of an earlier server: that was fetched then, or never will be.
func (m *manual) awaitShell(en *entry) bool {
	if en.resumed {
		return true
	}
	patience := time.NewTimer(m.opts.ShellPatience)
	defer patience.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var begun bool
		m.hand.locked(func() { begun = en.started || m.hand.stacks[en.stack] != en })
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
