// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// NewDestroyCommand is "yuba destroy".
func NewDestroyCommand(a *session.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "destroy NAME",
		Short: "Destroy everything that a stack manages; the stack stays",
		Long: `Plan the destruction of everything that a stack manages, show the plan, ask, and apply it. The stack itself stays,
with spec.destroy set; "yuba deploy" creates its resources again, "yuba delete" deletes the stack.`,
		Example: "  yuba destroy vpc\n  yuba destroy vpc --yes --timeout 30m",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the plan without a question")
	ui.AddTimeoutFlag(cmd, 0, waitUsage)
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return destroy(ctx, s, t, yes, out)
	})
	return cmd
}

func destroy(ctx context.Context, s *session.Session, before *infrav1.Terraform, yes bool, out *ui.Output) error {
	key := session.KeyOf(before)
	if verbs.DestroysAtOnce(before) {
		// No plan will wait for approval, so ask now.
		if err := s.MustConfirm(yes, "The stack "+key.String()+" applies plans automatically, so everything it manages is destroyed at once. There is no undo."); err != nil {
			return err
		}
	}
	request := session.NewRequest()
	changed, err := s.Patch(ctx, "destroy", key, verbs.Destroy(request))
	if err != nil {
		return err
	}
	r := review{action: "destroy", yes: yes, out: out, follower: followed(s, before, request, changed.Generation)}
	return r.run(ctx)
}
