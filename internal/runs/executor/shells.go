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
// happens: the kernel then unlocks its file. The runner ships what the process left.
func (m *manual) watchShell(en *entry) {
	if !m.awaitShell(en) {
		result := run.Result{Outcome: run.OutcomeCanceled, Error: "nobody connected to the shell", Finished: time.Now().UTC()}
		if err := m.ending.finish(context.Background(), en, result); err != nil {
			m.ending.finishLater(context.Background(), en, result)
		}
		return
	}
	name := filepath.Join(m.opts.ShellDir, run.ShellLock(en.id))
	lock := flock.New(name)
	if err := lock.Lock(); err != nil {
		m.opts.Log.Error("watching a shell: the run stays in hand until this server starts anew", "stack", en.stack.String(), "run", en.id, "error", err)
		return
	}
	defer os.Remove(name)          //nolint:errcheck // a leftover harms nobody
	defer lock.Unlock()            //nolint:errcheck // nobody else wants it
	if m.hand.of(en.stack) != en { // it ended in good order
		return
	}
	m.opts.Log.Warn("a person's shell has ended; the runner ships what it left", "stack", en.stack.String(), "run", en.id)
	m.release(en)
}

// awaitShell waits until a person's process has fetched the run, or had its time. Of an earlier
// server's run it has, or never will.
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
