// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newStateAdoptCommand(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "adopt NAME",
		Short: "Accept the state that a deleted stack left behind",
		Long: `Accept the state that a deleted stack left behind as the stack's own. Without it, each plan that changes something in such
a state waits for approval, also with approvePlan: auto, and a deletion with destroyResourcesOnDeletion waits, too.

The annotation ` + infrav1.AnnotationAdoptState + ` does the same: its value is the UID of the deleted stack, or "` + infrav1.AdoptAnyState + `" for any.`,
		Example: "  yuba state adopt vpc\n  yuba state adopt vpc --yes",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do it without a question")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		return s.adoptState(ctx, key, yes, out)
	})
	return cmd
}

func (s *session) adoptState(ctx context.Context, key types.NamespacedName, yes bool, out *output) error {
	t, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	from := t.Status.TakenOver
	if from == nil {
		return exitf(exitNotFound, "adopt the state of %s: it is not that of a deleted stack. See:\n    yuba status %s", key, s.call(key))
	}
	question := fmt.Sprintf("%s continues with the state of %s, which was deleted%s.", key, formerName(t, from), deletedAt(from))
	switch {
	case !t.DeletionTimestamp.IsZero():
		question += " It is being deleted: everything in that state is destroyed. There is no undo."
	case t.AutoApproves() || t.Spec.Force:
		question += " Its plans are applied without approval."
	}
	if err := s.mustConfirm(yes, question); err != nil {
		return err
	}
	adopted, err := s.patch(ctx, "adopt the state of", key, change{}.annotate(map[string]any{infrav1.AnnotationAdoptState: from.UID}))
	if err != nil {
		return err
	}
	s.news("%s continues with the state of %s.", key, formerName(t, from))
	if out.machine() {
		return s.showStatus(ctx, adopted, out)
	}
	return nil
}

// formerName is the deleted stack's name with its namespace.
func formerName(t *infrav1.Terraform, from *infrav1.StateTakeover) string {
	return t.Namespace + "/" + from.Name
}

// deletedAt says when the former stack was deleted, if that is known.
func deletedAt(from *infrav1.StateTakeover) string {
	if from.DeletedAt == nil {
		return ""
	}
	return " " + from.DeletedAt.UTC().Format("2006-01-02 15:04 MST")
}

func newStateDropCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Start with an empty state",
		Long: `Replace the state by an empty one: the resources in it stay, and nothing manages them any more. The next plan
creates what the program declares. Use it when a stack found the state of a deleted one and has nothing to do with it. Lists first
what is forgotten, and asks. The state before stays in the history; "yuba state rollback" brings it back.`,
		Example: "  yuba state drop vpc\n  yuba state drop vpc --dry-run",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.onStack(flags.out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		return s.dropState(ctx, key, flags)
	})
	return cmd
}

// dropState pushes an empty state: one that follows the present one, or, where that is gone or cannot be read, a new one.
func (s *session) dropState(ctx context.Context, key types.NamespacedName, flags *changeFlags) error {
	t, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	if t.KeepsOwnState() {
		return exitf(exitError, "drop the state of %s: it is in a backend of the stack's own, and only the tool reaches it:\n    yuba shell %s", key, s.call(key))
	}
	now, readable, err := s.stateToDrop(ctx, key)
	if err != nil {
		return fmt.Errorf("drop the state of %s: %w", key, err)
	}
	if now.Encrypted {
		return exitf(exitError, "drop the state of %s: OpenTofu encrypted it, and would not read an empty one in its place. Choose another name for the state:\n"+
			"    yuba kubectl patch tf %s -n %s --type=merge -p '{\"spec\":{\"backendConfig\":{\"secretSuffix\":\"NEW-NAME\"}}}'", key, key.Name, key.Namespace)
	}
	next := &state.Snapshot{Serial: now.Serial + 1, Lineage: now.Lineage}
	next.Data = emptyState(next)
	question := fmt.Sprintf("The state of %s becomes empty. The resources in it stay, and nothing manages them any more.", key)
	return s.pushState(ctx, key, run.StateChange{Verb: run.StatePush, State: next.Data, Force: !readable}, next, question, flags)
}

// stateToDrop returns the current state. When it can never be read again, it returns the first state of a new lineage.
func (s *session) stateToDrop(ctx context.Context, key types.NamespacedName) (now *state.Snapshot, readable bool, err error) {
	data, err := s.content.State(ctx, key.Namespace, key.Name, "")
	switch {
	case apierrors.IsConflict(err): // damaged or vanished; passing failures have another code
	case err != nil:
		return nil, false, err
	default:
		if now, err := state.NewSnapshot(data); err == nil {
			return now, true, nil
		}
	}
	return &state.Snapshot{Lineage: string(uuid.NewUUID())}, false, nil
}

// emptyState is a state that holds nothing.
func emptyState(s *state.Snapshot) []byte {
	data, err := json.Marshal(map[string]any{"version": 4, "serial": s.Serial, "lineage": s.Lineage,
		"outputs": map[string]any{}, "resources": []any{}})
	if err != nil {
		panic(fmt.Sprintf("encode an empty state: %v. This is a bug in Yuba.", err))
	}
	return data
}
