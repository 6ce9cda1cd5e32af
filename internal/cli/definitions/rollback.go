// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func newRollbackCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback DEFINITION",
		Short: "Go back to an earlier revision of a definition",
		Long: `Write the spec of an earlier revision into a definition: by default, of the one that all instances had before the last
change. The way back is a rollout like any other, with the definition's limits, and makes a new revision. Instances that
never got the change are not written. How web pages show the kind, and spec.rollout, stay as they are.

If a source manages the definition, undo the change there instead: otherwise it comes back with the next reconciliation.`,
		Example: "  yuba definition rollback bucket\n  yuba definition rollback bucket --to 2",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	to := cmd.Flags().Int64("to", 0, "the revision (default: the one before the last change)")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		d, ledger, err := ledgerOf(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		number := *to
		if number == 0 {
			number = before(d, ledger)
		}
		if number == 0 {
			return ui.Exitf(ui.ExitNotFound, "the definition %s has no earlier revision. List its revisions:\n    yuba definition history %s", d.Name, d.Name)
		}
		r, err := pick(d.Name, ledger.Revisions(d.Name), number)
		if err != nil {
			return err
		}
		if !restore(d, r.Definition) {
			s.News("The definition %s has the spec of revision %d already.", d.Name, number)
			return nil
		}
		if err := s.Objects.Update(cmd.Context(), d, session.FieldOwner); err != nil {
			if apierrors.IsConflict(err) {
				return ui.Exitf(ui.ExitFailure, "the definition %s was changed at the same time. See what it is now, and try again:\n    yuba definition history %s", d.Name, d.Name)
			}
			return fmt.Errorf("write revision %d of the definition %s: %w", number, d.Name, err)
		}
		s.News("The definition %s goes back to revision %d. Follow the rollout:\n    yuba kubectl get applicationdefinition %s -w", d.Name, number, d.Name)
		return nil
	})
	return cmd
}

// before is the revision that undoes the last change: if the server refused that, the accepted one. It is
// 0 if there is none.
func before(d *appv1.ApplicationDefinition, ledger revisions.Ledger) int64 {
	if !ledger.Has(d) {
		return ledger.Target
	}
	return ledger.Previous()
}

// restore gives a definition the content of an earlier one, and reports whether that changes it.
func restore(d, earlier *appv1.ApplicationDefinition) bool {
	before := revisions.Digest(d)
	dashboard, rollout := d.Spec.Dashboard, d.Spec.Rollout
	d.Spec = *earlier.Spec.DeepCopy()
	d.Spec.Dashboard, d.Spec.Rollout = dashboard, rollout
	for _, key := range revisions.HelmAnnotations {
		if value, had := earlier.Annotations[key]; had {
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			d.Annotations[key] = value
		} else {
			delete(d.Annotations, key)
		}
	}
	return revisions.Digest(d) != before
}

func newPauseCommand(a *session.App) *cobra.Command {
	return pausing(a, true, &cobra.Command{
		Use:   "pause DEFINITION",
		Short: "Stop the rollout of a definition's change",
		Long: `Stop the rollout of a definition's change: no further instance gets it. Instances that have it keep it, and new ones get it.
The command sets spec.rollout.paused, which also holds for later changes.`,
		Example: "  yuba definition pause bucket",
	})
}

func newResumeCommand(a *session.App) *cobra.Command {
	return pausing(a, false, &cobra.Command{
		Use:     "resume DEFINITION",
		Short:   "Continue a paused rollout",
		Long:    "Continue a rollout that \"yuba definition pause\" stopped. The command removes spec.rollout.paused.",
		Example: "  yuba definition resume bucket",
	})
}

func pausing(a *session.App, paused bool, cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(1, 1), ui.NoNames
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		return pause(cmd.Context(), s, args[0], paused)
	})
	return cmd
}

func pause(ctx context.Context, s *session.Session, name string, paused bool) error {
	d, err := fromAPI(ctx, s, name)
	if err == nil && d == nil {
		err = ui.Exitf(ui.ExitNotFound, "there is no definition %s. List them:\n    yuba definition list", name)
	}
	if err != nil {
		return err
	}
	word := map[bool]string{true: "paused", false: "not paused"}[paused]
	if is := d.Spec.Rollout != nil && d.Spec.Rollout.Paused; is == paused {
		s.News("Rollouts of the definition %s are %s already.", name, word)
		return nil
	}
	if d.Spec.Rollout == nil {
		d.Spec.Rollout = &appv1.Rollout{}
	}
	d.Spec.Rollout.Paused = paused
	if *d.Spec.Rollout == (appv1.Rollout{}) {
		d.Spec.Rollout = nil
	}
	if err := s.Objects.Update(ctx, d, session.FieldOwner); err != nil {
		return fmt.Errorf("write spec.rollout.paused of the definition %s: %w", name, err)
	}
	s.News("Rollouts of the definition %s are %s.", name, word)
	return nil
}
