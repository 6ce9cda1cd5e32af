// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newStateRestoreCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore NAME VERSION",
		Short: "Plan on an earlier version of the state, then make it the state again",
		Long: `Plan the stack's program on an earlier version of its state, show what that plan would change, ask, and make the version the state
again. VERSION is the id of a version ("yuba state history"), or a time as in "yuba state at": the version that was
current then.

The plan is only shown: after the restore, the stack makes its own, which waits for approval as usual. If the state changed since the plan, nothing is restored.
"yuba state rollback" does the same without a plan, for a program or a provider that does not work.`,
		Example: "  yuba state restore vpc 01767225600000000000-4\n  yuba state restore vpc 2h --dry-run\n  yuba state restore vpc '2026-01-31 15:04'",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateVersions, false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, rest []string) error {
		key := session.KeyOf(t)
		if err := storesVersions(s, t, "restore the state of"); err != nil {
			return err
		}
		list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
		if err != nil {
			return s.StackError("list the versions of the state of", key, err)
		}
		version, err := versionNamed(s, key, &list, rest[0], time.Now())
		if err != nil {
			return err
		}
		return restore(ctx, s, key, version, flags)
	})
	return cmd
}

// versionNamed is the version with an id, or that of a time. The server may store more than it lists.
func versionNamed(s *session.Session, key types.NamespacedName, list *content.VersionList, text string, now time.Time) (string, error) {
	at, err := parseTime(text, now)
	if err != nil {
		return text, nil //nolint:nilerr // it is an id
	}
	var t then
	if t.find(list, at); t.Version == nil {
		why := t.Problem
		if why == "" {
			why = "no version of its state was stored yet"
		}
		return "", ui.Exitf(ui.ExitNotFound, "%s: %s at %s. List the versions:\n    yuba state history %s", key, why, at.Format(time.RFC3339), s.Call(key))
	}
	return t.Version.ID, nil
}

// restore plans on a version, asks, and makes it the state.
func restore(ctx context.Context, s *session.Session, key types.NamespacedName, version string, flags *changeFlags) error {
	w := previews(s, flags.out)
	target, err := s.Content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return once("restore the state of", key, err)
	}
	current, err := s.Content.State(ctx, key.Namespace, key.Name, "")
	if err != nil {
		return restoreBlind(s, key, version, err)
	}
	if bytes.Equal(current, target) {
		return ui.Exitf(ui.ExitFailure, "version %s is already the state of %s", version, key)
	}
	now, err := state.NewSnapshot(current)
	if err != nil {
		return restoreBlind(s, key, version, err)
	}
	compareStates(s, w, "Serial %d is replaced by serial %d:\n", current, target)
	change := run.StateChange{Verb: run.StateRollback, Args: []string{version}}
	preview := change
	preview.Preview = true
	rec, err := carryChange(ctx, s, key, preview, now.Digest)
	if err != nil {
		return err
	}
	if flags.dryRun && flags.out.Machine() {
		return tellChange(s, rec, flags.out)
	}
	fmt.Fprintf(w, "\nThe program of %s would then plan:\n\n%s\n", rec.Spec.Artifact.Revision, rec.Result.Text)
	if flags.dryRun {
		return nil
	}
	if !flags.yes {
		warnOfNextReconciliation(ctx, s, key)
	}
	if err := s.MustConfirm(flags.yes, fmt.Sprintf("The state of %s becomes that of version %s.", key, version)); err != nil {
		return err
	}
	return doChange(ctx, s, key, change, now.Digest, flags)
}

// restoreBlind refuses to restore over a state that cannot be compared.
func restoreBlind(s *session.Session, key types.NamespacedName, version string, err error) error {
	return ui.Exitf(ui.ExitFailure, "restore the state of %s: the current one cannot be read, so nothing can be planned: %w.\nReplace it without a plan:\n    yuba state rollback %s %s", key, err, s.Call(key), version)
}

func newStateUndoCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Undo the last change of the state that a person made",
		Long: `Undo the last change of the state: mv, rm, import, taint, untaint, replace-provider, refresh, push, rollback or restore. The command restores the version
before it, as "yuba state restore" does: it shows what the state would lose and gain and the plan that would follow, and asks. It
refuses if something else wrote the state since, such as an apply, a shell or a migration. Undo again to get the change back.`,
		Example: "  yuba state undo vpc\n  yuba state undo vpc --dry-run",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		key := session.KeyOf(t)
		if err := storesVersions(s, t, "undo the last change of the state of"); err != nil {
			return err
		}
		version, err := versionBefore(ctx, s, key)
		if err != nil {
			return err
		}
		return restore(ctx, s, key, version, flags)
	})
	return cmd
}

// versionBefore is the version before the last change, which must be that of a person.
func versionBefore(ctx context.Context, s *session.Session, key types.NamespacedName) (string, error) {
	list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
	if err != nil {
		return "", s.StackError("list the versions of the state of", key, err)
	}
	if len(list.Items) == 0 {
		return "", ui.Exitf(ui.ExitNotFound, "no version of the state of %s is stored, so there is nothing to undo", key)
	}
	last := list.Items[0].RunID
	rec, err := s.Content.Run(ctx, key.Namespace, key.Name, last)
	if last == "" || apierrors.IsNotFound(err) {
		return "", ui.Exitf(ui.ExitRefused, "undo the last change of the state of %s: the run that made it is not stored. Choose a version:\n    yuba state history %s\n    yuba state restore %s VERSION", key, s.Call(key), s.Call(key))
	}
	if err != nil {
		return "", s.StackError("read the last change of the state of", key, err)
	}
	i := slices.IndexFunc(list.Items, func(v state.Version) bool { return v.RunID != last })
	if why := noUndo(rec, list.Items[0], list.Items[max(i, 0)], s.Call(key)); why != "" {
		return "", ui.Exitf(ui.ExitRefused, "undo the last change of the state of %s: run %s made it (%s), and %s", key, last, rec.Spec.Title(), why)
	}
	if i < 0 {
		return "", ui.Exitf(ui.ExitNotFound, "no version before %s of the state of %s is stored", list.Items[len(list.Items)-1].ID, key)
	}
	s.News("Undoing %s of run %s, requested by %s.", rec.Spec.Title(), last, rec.By)
	return list.Items[i].ID, nil
}

// noUndo says why the last change of a state is not undone, and what to do; empty if it can be.
func noUndo(rec run.Record, last, before state.Version, stack string) string {
	restore := fmt.Sprintf(". To plan on an earlier state:\n    yuba state history %s\n    yuba state restore %s VERSION", stack, stack)
	switch change := rec.Spec.StateChange; {
	case rec.Spec.Operation == run.OperationShell:
		return "in a shell, tofu may have changed real resources" + restore
	case rec.Spec.Operation != run.OperationState:
		return "it changed real resources" + restore
	case change != nil && change.Verb == run.StateMigrate:
		return fmt.Sprintf("the version before it is older than what the other backend had. Move the state back:\n    yuba state migrate %s --to BACKEND", stack)
	case last.Lineage != before.Lineage:
		return "the version before it has another lineage, " + before.Lineage + restore
	}
	return ""
}
