// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewForceUnlockCommand is "yuba force-unlock".
func NewForceUnlockCommand(a *session.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "force-unlock NAME [LOCK-ID]",
		Short: "Release the lock of a state whose holder is gone",
		Long: `Release the lock of a stack's state. "yuba status" shows the lock's id and its holder. Be sure that the holder is gone: two
writers damage a state. Yuba releases the locks of its own runs. In a custom backend, a run of the stack breaks the lock with
tofu. The lock's id is then the one that the backend gave it; for cloud and remote, it is ORGANIZATION/WORKSPACE.`,
		Example: "  yuba force-unlock vpc 3f2a6c1e-8f1d-4c7e-9d55-0a0b1c2d3e4f",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: a.StackAnd(foreignLock, false),
	}
	cmd.Flags().StringVar(&id, "lock-id", "", "the lock's id, instead of the second argument")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 2 && id != "":
			return ui.UsageErrorf(cmd, "name the lock's id once")
		case len(args) == 2:
			id = args[1]
		case id == "":
			return ui.UsageErrorf(cmd, "the lock's id is missing; \"yuba status %s\" shows it", args[0])
		}
		return nil
	}
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		key := session.KeyOf(t)
		if t.KeepsOwnState() {
			return breakLock(ctx, s, key, id)
		}
		if err := s.Content.Unlock(ctx, key.Namespace, key.Name, id); err != nil {
			return once("unlock the state of", key, err)
		}
		s.News("The state of %s is unlocked.", key)
		return nil
	})
	return cmd
}

// breakLock breaks the lock of a custom backend, with a run.
func breakLock(ctx context.Context, s *session.Session, key types.NamespacedName, id string) error {
	const action = "unlock the state of"
	rec, err := s.Content.BreakLock(ctx, key.Namespace, key.Name, id)
	if err != nil {
		return s.StackError(action, key, err)
	}
	if rec, err = ended(ctx, s, action, key, rec); err != nil {
		return err
	}
	s.News("%s. Continue with:\n    yuba replan %s --wait", rec.Result.Text, s.Call(key))
	return nil
}
