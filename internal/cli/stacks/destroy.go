// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewDestroyCommand is "yuba destroy".
func NewDestroyCommand(a *session.App) *cobra.Command {
	var yes bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "destroy NAME",
		Short: "Destroy everything that a stack manages; the stack stays",
		Long: `Plan the destruction of everything that a stack manages, show the plan, ask, and apply it. The stack itself stays,
with spec.destroy set; "yuba deploy" creates its resources again, "yuba delete" deletes the stack.`,
		Example: "  yuba destroy vpc\n  yuba destroy vpc --yes --timeout 30m",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the plan without a question")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "maximum time to wait; the run continues after that")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(out, func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		ctx, cancel := ui.WithTimeout(ctx, timeout)
		defer cancel()
		return destroy(ctx, s, key, yes, out)
	})
	return cmd
}

func destroy(ctx context.Context, s *session.Session, key types.NamespacedName, yes bool, out *ui.Output) error {
	before, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if before.AutoApproves() || before.Spec.Force {
		// There will be no plan to approve, so this is the moment to ask.
		if err := s.MustConfirm(yes, "The stack "+key.String()+" applies plans automatically, so everything it manages is destroyed at once. There is no undo."); err != nil {
			return err
		}
	}
	request := session.NewRequest()
	changed, err := s.Patch(ctx, "destroy", key, session.Change{Spec: map[string]any{"destroy": true}}.
		Annotate(map[string]any{infrav1.AnnotationReconcile: request, infrav1.AnnotationRejected: nil}))
	if err != nil {
		return err
	}
	r := review{action: "destroy", yes: yes, out: out, follower: follower{Session: s, key: key,
		before: lastRunOf(before), request: request, generation: changed.Generation}}
	return r.run(ctx)
}
