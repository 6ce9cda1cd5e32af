// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newStateAdoptCommand(a *session.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "adopt NAME",
		Short: "Adopt the state that a deleted stack left behind",
		Long: `Adopt the state that a deleted stack left behind. Before that, each plan that changes something in such a state waits for
approval, even with approvePlan: auto, and so does a deletion with destroyResourcesOnDeletion.

The annotation ` + infrav1.AnnotationAdoptState + ` does the same: its value is the UID of the deleted stack, or "` + infrav1.AdoptAnyState + `" for any.`,
		Example: "  yuba state adopt vpc\n  yuba state adopt vpc --yes",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return adoptState(ctx, s, t, yes, out)
	})
	return cmd
}

func adoptState(ctx context.Context, s *session.Session, t *infrav1.Terraform, yes bool, out *ui.Output) error {
	key, from := session.KeyOf(t), t.Status.TakenOver
	if from == nil {
		return ui.Exitf(ui.ExitNotFound, "adopt the state of %s: it is not that of a deleted stack. See:\n    yuba status %s", key, s.Call(key))
	}
	question := fmt.Sprintf("%s continues with the state of %s, which was deleted%s.", key, session.FormerName(t, from), session.DeletedAt(from))
	switch {
	case !t.DeletionTimestamp.IsZero():
		question += " It is being deleted: everything in that state is destroyed. There is no undo."
	case t.AppliesByItself() || t.Spec.Force:
		question += " Its plans are applied without approval."
	}
	if err := s.MustConfirm(yes, question); err != nil {
		return err
	}
	adopted, err := s.Patch(ctx, "adopt the state of", key, session.Change{}.Annotate(map[string]any{infrav1.AnnotationAdoptState: from.UID}))
	if err != nil {
		return err
	}
	s.News("%s continues with the state of %s.", key, session.FormerName(t, from))
	return s.PrintStack(adopted, out)
}

func newStateDropCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Replace the state by an empty one",
		Long: `Replace the state by an empty one: its resources stay, unmanaged, and the next plan creates what the program declares. Use it
when a stack found the state of a deleted stack that is unrelated. The command lists the resources to forget, and asks.
The former state stays in the history; "yuba state rollback" restores it.`,
		Example: "  yuba state drop vpc\n  yuba state drop vpc --dry-run",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return dropState(ctx, s, t, flags)
	})
	return cmd
}

// dropState pushes an empty state: the successor of the current one, or of a new lineage.
func dropState(ctx context.Context, s *session.Session, t *infrav1.Terraform, flags *changeFlags) error {
	key := session.KeyOf(t)
	if t.KeepsOwnState() {
		return ui.Exitf(ui.ExitFailure, "drop the state of %s: it is in a custom backend, which only the tool can reach:\n    yuba shell %s", key, s.Call(key))
	}
	now, readable, err := stateToDrop(ctx, s, key)
	if err != nil {
		return fmt.Errorf("drop the state of %s: %w", key, err)
	}
	if now.Encrypted {
		return ui.Exitf(ui.ExitFailure, "drop the state of %s: OpenTofu encrypted it, and does not read an empty one in its place. Choose another name for the state:\n"+
			"    yuba kubectl patch tf %s -n %s --type=merge -p '{\"spec\":{\"backendConfig\":{\"secretSuffix\":\"NEW-NAME\"}}}'", key, key.Name, key.Namespace)
	}
	next := &state.Snapshot{Serial: now.Serial + 1, Lineage: now.Lineage}
	next.Data = emptyState(next)
	question := fmt.Sprintf("The state of %s becomes empty. Its resources stay, unmanaged.", key)
	return pushState(ctx, s, key, run.StateChange{Verb: run.StatePush, State: next.Data, Force: !readable}, next, question, flags)
}

// stateToDrop returns the current state, or an empty one if it can never be read again.
func stateToDrop(ctx context.Context, s *session.Session, key types.NamespacedName) (now *state.Snapshot, readable bool, err error) {
	data, err := s.Content.State(ctx, key.Namespace, key.Name, "")
	switch {
	case apierrors.IsConflict(err): // damaged or lost; transient failures have another code
	case err != nil:
		return nil, false, err
	default:
		if now, err := state.NewSnapshot(data); err == nil {
			return now, true, nil
		}
	}
	return &state.Snapshot{Lineage: string(uuid.NewUUID())}, false, nil
}

func emptyState(s *state.Snapshot) []byte {
	data, err := json.Marshal(map[string]any{"version": 4, "serial": s.Serial, "lineage": s.Lineage,
		"outputs": map[string]any{}, "resources": []any{}})
	if err != nil {
		panic(fmt.Sprintf("encode an empty state: %v. This is a bug in Yuba.", err))
	}
	return data
}
