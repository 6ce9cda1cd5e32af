// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewDeleteCommand is "yuba delete".
func NewDeleteCommand(a *session.App) *cobra.Command {
	var yes, wait bool
	cmd := &cobra.Command{
		Use: "delete NAME", SuggestFor: []string{"rm", "remove"},
		Short: "Delete a stack, and its resources if it is configured to",
		Long: `Delete a stack. With spec.destroyResourcesOnDeletion, Yuba first destroys its resources; otherwise the resources
stay, unmanaged. The state and its history stay in either case. The command lists what stays, and asks.

The commands below delete sources, Kustomizations, receivers and alerts; name a stack that is called like one of them
NAMESPACE/NAME.`,
		Example: "  yuba delete vpc\n  yuba delete vpc --yes --wait=false",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "delete without a question, even if resources are destroyed")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until the stack is gone")
	ui.AddTimeoutFlag(cmd, 0, waitUsage)
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return deleteStack(ctx, s, t, yes, wait)
	})
	return cmd
}

func deleteStack(ctx context.Context, s *session.Session, t *infrav1.Terraform, yes, wait bool) error {
	key := session.KeyOf(t)
	if question := deletionQuestion(s, t); question != "" {
		if err := s.MustConfirm(yes, question); err != nil {
			return err
		}
	}
	// Do not delete a newer stack of the same name.
	this := client.Preconditions{UID: &t.UID}
	if err := s.Objects.Delete(ctx, t, this, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return s.StackError("delete", key, err)
	}
	if !wait {
		s.News("%s is being deleted.", key)
		return nil
	}
	if err := awaitGone(ctx, s, key, t); err != nil {
		return err
	}
	s.News("%s is deleted.%s", key, whatStays(t))
	return nil
}

// deletionQuestion says what a deletion destroys or leaves behind; empty if nothing.
func deletionQuestion(s *session.Session, t *infrav1.Terraform) string {
	key, targets := session.KeyOf(t), strings.Join(t.Spec.Targets, ", ")
	switch {
	case !t.DeletionTimestamp.IsZero() || !mayHaveResources(t):
		return ""
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf("Deleting %s leaves its resources in place, unmanaged. The state stays, too: %s. "+
			"A stack of the same name adopts it.\nTo destroy the resources first:\n    yuba destroy %s", key, placeOfState(t), s.Call(key))
	case targets != "":
		return fmt.Sprintf("Deleting %s destroys the resources in its spec.targets: %s. There is no undo. Its other resources stay, and so does the state: %s.",
			key, targets, placeOfState(t))
	}
	return fmt.Sprintf("Deleting %s destroys everything that it manages. There is no undo.", key)
}

func whatStays(t *infrav1.Terraform) string {
	switch {
	case !mayHaveResources(t):
		return ""
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf(" Its resources stay, unmanaged. The state stays: %s.", placeOfState(t))
	case len(t.Spec.Targets) > 0:
		return fmt.Sprintf(" Resources outside spec.targets stay, and so does the state: %s.", placeOfState(t))
	}
	return ""
}

// mayHaveResources reports whether the stack applied, or found an existing state.
func mayHaveResources(t *infrav1.Terraform) bool {
	s := &t.Status
	destroyed := t.Spec.Destroy && session.ConditionOf(t, infrav1.ConditionReady).Status == metav1.ConditionTrue
	return (s.LastAppliedRevision != "" || s.LastAppliedRun != "" || s.TakenOver != nil) && !destroyed
}

func placeOfState(t *infrav1.Terraform) string {
	if t.KeepsOwnState() {
		return "in the stack's custom backend"
	}
	return "Secret " + t.StateSecretName()
}

// awaitGone shows the runs of a deletion, and why it waits, until the stack is gone.
func awaitGone(ctx context.Context, s *session.Session, key types.NamespacedName, deleted *infrav1.Terraform) error {
	f := follower{Session: s, key: key, before: lastRunOf(deleted)}
	for {
		t, err := s.WaitFor(ctx, key, func(t *infrav1.Terraform) bool {
			if t.UID != deleted.UID || t.Status.CurrentRun != nil && t.Status.CurrentRun.ID != f.before {
				return true
			}
			if ready := session.ConditionOf(t, infrav1.ConditionReady); ready.Status == metav1.ConditionFalse && ready.ObservedGeneration == t.Generation {
				f.tell("Waiting: %s", ui.FirstLine(ready.Message, 300))
			}
			return false
		})
		if err != nil || t == nil || t.UID != deleted.UID {
			return err
		}
		if t, err = f.runs(ctx, t); err != nil || t == nil {
			return err
		}
	}
}
