// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// partialOf is where a directory is written before it is the owner's. Each call has its own: two of them may
// continue one hand-over.
func partialOf(mark moving.Handover, call string) string {
	return filepath.Join(filepath.Dir(mark.Dir), "."+filepath.Base(mark.Dir)+"."+mark.ID+"."+call+".partial")
}

// arm makes the owner's directory, or finishes what an interrupted call began.
func (h *handover) arm(ctx context.Context, t *infrav1.Terraform, mark moving.Handover, done *handed) error {
	if mark.Phase != moving.PhaseArming {
		return h.writeAndArm(ctx, t, mark, done)
	}
	// Only the directory that the mark names may become the owner's.
	partial := partialOf(mark, mark.Armed)
	c, err := readCard(partial)
	if errors.Is(err, os.ErrNotExist) {
		key := session.KeyOf(t)
		return ui.Exitf(ui.ExitWaiting, "hand over %s: another call of the command, perhaps on another machine, was about to finish %s, and its directory is not here. Run the command there, "+
			"or find the directory and undo it:\n    yuba take-back %s --from DIRECTORY", key, mark.Dir, key)
	}
	if err != nil {
		return err
	}
	done.Serial, done.Withheld, done.Proof = c.Serial, c.Withheld, "made before the interruption"
	return renamed(partial, mark.Dir)
}

// writeAndArm writes the directory under another name, proves it, and renames it.
func (h *handover) writeAndArm(ctx context.Context, t *infrav1.Terraform, mark moving.Handover, done *handed) (err error) {
	if err := os.MkdirAll(filepath.Dir(mark.Dir), 0o700); err != nil {
		return err
	}
	if err := sweep(mark); err != nil {
		return err
	}
	call := newID(time.Now())
	partial := partialOf(mark, call)
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	held, err := hold(partial)
	if err != nil {
		return err
	}
	defer held.Close() //nolint:errcheck // only a lock
	armed := mark
	armed.Armed, armed.Phase = call, moving.PhaseDone
	if err := h.writeAll(ctx, t, armed, partial, done); err != nil {
		return err
	}
	// The take-back compares and swaps the same mark: one of the two wins.
	err = remark(ctx, h.Session, session.KeyOf(t), mark.ID, from{moving.PhaseLeaving}, func(m *moving.Handover) (*moving.Handover, map[string]any) {
		m.Phase, m.Armed = moving.PhaseArming, call
		return m, nil
	})
	var changed *changedError
	if errors.As(err, &changed) {
		return errors.Join(err, os.RemoveAll(partial))
	}
	if err != nil {
		// The server may have written it: the directory stays for the next call.
		return err
	}
	if err := h.step("arming"); err != nil {
		return err
	}
	return renamed(partial, mark.Dir)
}

// writeAll writes everything, and makes it durable.
func (h *handover) writeAll(ctx context.Context, t *infrav1.Terraform, mark moving.Handover, partial string, done *handed) error {
	c, err := h.fetch(ctx, t, filepath.Join(partial, programDir))
	if err != nil {
		return err
	}
	mark.Serial = c.serial()
	d := &directory{path: partial, secrets: h.secrets, card: card{Handover: mark, Namespace: t.Namespace, Name: t.Name, Home: h.Config.Host}}
	if done.Proof, err = h.write(ctx, d, c); err != nil {
		return err
	}
	if err := h.step("written"); err != nil {
		return err
	}
	done.Serial, done.Withheld = mark.Serial, d.card.Withheld
	if err := d.finish(d.readme(done.Proof)); err != nil {
		return err
	}
	return synced(partial)
}

// sweep removes what interrupted calls left, which may have secrets, but not what a living call writes.
func sweep(mark moving.Handover) error {
	left, err := filepath.Glob(partialOf(mark, "*"))
	if err != nil {
		return fmt.Errorf("look for directories of interrupted calls: %w", err)
	}
	for _, path := range left {
		held, err := hold(path)
		if err != nil {
			continue
		}
		if err := errors.Join(os.RemoveAll(path), held.Close()); err != nil {
			return err
		}
	}
	return nil
}

// hold locks a directory that is being written; the lock ends with the file or the process.
func hold(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		return nil, errors.Join(fmt.Errorf("lock %s, which another call of the command has: %w", path, err), file.Close())
	}
	return file, nil
}

// renamed gives the directory its name, durably.
func renamed(partial, dir string) error {
	if err := os.Rename(partial, dir); err != nil {
		return err
	}
	return synced(filepath.Dir(dir))
}

func synced(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
