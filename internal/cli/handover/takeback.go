// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// takeback is one call of the command.
type takeback struct {
	*session.Session
	from      string
	abandoned bool
	yes       bool
	suspended bool
	out       *ui.Output
	step      func(name string) error
}

// NewTakeBackCommand is "yuba take-back".
func NewTakeBackCommand(a *session.App) *cobra.Command {
	b := &takeback{step: func(string) error { return nil }}
	cmd := &cobra.Command{
		Use:   "take-back NAME",
		Short: "Take back a stack that was handed over, or undo an interrupted hand-over",
		Long: `Take back a stack that "yuba hand-over" gave away. The command first disarms the directory of the owner, so that tofu refuses to work
there, then makes the state of the directory the stack's, by a recorded run, and then resumes the stack as it was before.

If the directory is gone or elsewhere, name it with --from, or use --abandoned: then you vouch that nobody runs the stack any more, and
the state is the one that was handed over. A hand-over that was interrupted before it was proven has no directory, and needs neither.
Crossplane and owners of imported resources have no directory to disarm: remove the
resources from them first.`,
		Example: "  yuba take-back vpc\n  yuba take-back vpc --from /srv/handed-over/team-a/vpc\n  yuba take-back vpc --abandoned --suspended",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringVar(&b.from, "from", "", "the directory that was handed over (default where the command wrote it)")
	cmd.Flags().BoolVar(&b.abandoned, "abandoned", false, "nobody runs the stack any more; do not ask for a directory")
	cmd.Flags().BoolVar(&b.suspended, "suspended", false, "leave the stack suspended")
	cmd.Flags().BoolVarP(&b.yes, "yes", "y", false, "take back without a question")
	b.out = ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		b.Session = s
		return b.run(ctx, t)
	})
	return cmd
}

func (b *takeback) run(ctx context.Context, t *infrav1.Terraform) error {
	key := session.KeyOf(t)
	mark, marked := moving.HandedOver(t)
	if !marked {
		return ui.Exitf(ui.ExitFailure, "take back %s: it was not handed over", key)
	}
	dir, err := b.directory(key, mark)
	if err != nil {
		return err
	}
	from := "without a directory: you vouch that nobody runs it"
	if dir != nil {
		from = "from " + dir.path
	}
	if err := b.MustConfirm(b.yes, fmt.Sprintf("Take %s back %s?", key, from)); err != nil {
		return err
	}
	if err := b.back(ctx, key, mark, dir); err != nil {
		return fmt.Errorf("take back %s: %w.\nNobody runs it now. To continue, run the same command again", key, err)
	}
	t, err = b.Get(ctx, key)
	if err != nil {
		return err
	}
	b.News("%s is back. Compare the real infrastructure with it:\n    yuba replan %s", key, b.Call(key))
	return b.PrintStack(t, b.out)
}

// directory finds the directory of the owner; nil if there is none.
func (b *takeback) directory(key types.NamespacedName, mark moving.Handover) (*directory, error) {
	path := mark.Dir
	if b.from != "" {
		path = b.from
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c, err := readCard(path)
	switch {
	case err == nil && c.ID == mark.ID:
		return &directory{path: path, card: c}, nil
	case err == nil:
		return nil, ui.Exitf(ui.ExitFailure, "take back %s: %s is the directory of another hand-over (%s, not %s)", key, path, c.ID, mark.ID)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("take back %s: %w", key, err)
	case b.abandoned, mark.Phase == moving.PhaseLeaving && b.from == "":
		// An interrupted hand-over has no directory yet: the mark says so before the directory gets its name.
		return nil, nil
	case mark.Phase == moving.PhaseArming:
		return nil, ui.Exitf(ui.ExitFailure, "take back %s: its new owner may run it already, and %s is not on this machine. Run this where yuba hand-over ran (after an interruption, run that once more first), "+
			"or name the directory with --from, or, if nobody runs the stack and nobody will: --abandoned", key, path)
	}
	return nil, ui.Exitf(ui.ExitFailure, "take back %s: %s is not there. Name the directory with --from, or, if nobody runs the stack any more: --abandoned", key, path)
}

// back disarms, brings the state, and removes the mark, in this order.
func (b *takeback) back(ctx context.Context, key types.NamespacedName, mark moving.Handover, dir *directory) error {
	if dir != nil {
		if err := dir.disarm(mark); err != nil {
			return err
		}
		if err := b.step("disarmed"); err != nil {
			return err
		}
	}
	// Without a directory nothing is disarmed, so nothing must have been armed since the mark was read.
	phases := anyPhase
	if dir == nil && !b.abandoned {
		phases = from{moving.PhaseLeaving}
	}
	err := remark(ctx, b.Session, key, mark.ID, phases, func(m *moving.Handover) (*moving.Handover, map[string]any) {
		m.Phase = moving.PhaseReturning
		return m, map[string]any{"suspend": true}
	})
	if err != nil {
		return err
	}
	if err := b.step("returning"); err != nil {
		return err
	}
	if dir != nil && mark.To == toTofu {
		if err := b.bringState(ctx, key, dir); err != nil {
			return err
		}
	}
	if err := b.step("brought"); err != nil {
		return err
	}
	return remark(ctx, b.Session, key, mark.ID, from{moving.PhaseReturning}, func(m *moving.Handover) (*moving.Handover, map[string]any) {
		spec := m.Before
		if b.suspended && spec != nil {
			spec["suspend"] = true
		}
		return nil, spec
	})
}

// disarm makes every command of tofu in the directory fail. Its state stays for readers, under another name.
func (d *directory) disarm(mark moving.Handover) error {
	if mark.To == toCrossplane {
		return nil
	}
	text := d.card.Namespace + "/" + d.card.Name + " was taken back by Yuba, so tofu must not work here. This line is not a configuration, on purpose.\n"
	if err := d.replace(filepath.Join(d.module(), disarmedName), []byte(text)); err != nil {
		return err
	}
	return synced(d.module())
}

// bringState pushes the state of the directory if it is newer.
func (b *takeback) bringState(ctx context.Context, key types.NamespacedName, dir *directory) error {
	if lock, err := os.Stat(filepath.Join(filepath.Dir(dir.statePath()), "."+stateName+".lock.info")); err == nil {
		return fmt.Errorf("tofu works in %s since %s. Wait until it has ended; if it has crashed, delete %s", dir.path, lock.ModTime().Format("15:04:05"), lock.Name())
	}
	data, err := os.ReadFile(dir.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a custom backend
	}
	if err != nil {
		return fmt.Errorf("read the state of the directory: %w", err)
	}
	next, err := state.NewSnapshot(data)
	if err != nil {
		return fmt.Errorf("read the state of the directory %s: %w", dir.path, err)
	}
	now, err := b.Content.State(ctx, key.Namespace, key.Name, "")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the state: %w", err)
	}
	expect := ""
	if now != nil {
		was, err := state.NewSnapshot(now)
		if err != nil {
			return fmt.Errorf("read the state: %w", err)
		}
		if was.Digest == next.Digest {
			return nil
		}
		expect = was.Digest
	}
	rec, err := b.Content.Change(ctx, key.Namespace, key.Name, run.StateChange{Verb: run.StatePush, State: data}, expect)
	if err != nil {
		return fmt.Errorf("push the state of %s: %w", dir.path, err)
	}
	if rec.Result == nil {
		if rec, err = b.AwaitRun(ctx, key, rec.Spec.ID); err != nil {
			return err
		}
	}
	if rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded {
		return fmt.Errorf("push the state of %s: run %s did not succeed", dir.path, rec.Spec.ID)
	}
	b.News("%s has the state of the directory, with serial %d, by run %s.", key, next.Serial, rec.Spec.ID)
	return nil
}
