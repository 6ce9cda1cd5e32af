// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func newDeleteCommand(a *app) *cobra.Command {
	var yes, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "delete NAME", SuggestFor: []string{"rm", "remove"},
		Short: "Delete a stack, and what it manages if it says so",
		Long: `Delete a stack. With spec.destroyResourcesOnDeletion, Yuba first destroys what the stack manages; otherwise the resources
stay, and nothing manages them any more. The state and its history stay in either case. The command says what stays, and asks.

The commands below delete sources, Kustomizations, receivers and alerts; a stack that is called like one of them is
NAMESPACE/NAME.`,
		Example: "  yuba delete vpc\n  yuba delete vpc --yes --wait=false",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do it without a question, also where resources are destroyed")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until the stack is gone")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most; what runs goes on after that")
	cmd.RunE = a.onStack(nil, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		ctx, cancel := withTimeout(ctx, timeout)
		defer cancel()
		return s.delete(ctx, key, yes, wait)
	})
	addKindCommands(cmd, func(k kind) bool { return !k.made }, func(k kind) *cobra.Command { return newDeleteKindCommand(a, k) })
	return cmd
}

func (s *session) delete(ctx context.Context, key types.NamespacedName, yes, wait bool) error {
	t, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	if question := s.deletionQuestion(t); question != "" {
		if err := s.mustConfirm(yes, question); err != nil {
			return err
		}
	}
	// The very stack that was looked at, not one that took its name.
	this := client.Preconditions{UID: &t.UID}
	if err := s.objects.Delete(ctx, t, this, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return s.stackError("delete", key, err)
	}
	if !wait {
		s.news("%s is being deleted.", key)
		return nil
	}
	if err := s.awaitGone(ctx, key, t); err != nil {
		return err
	}
	s.news("%s is deleted.%s", key, whatStays(t))
	return nil
}

// deletionQuestion says what a deletion destroys and what it leaves behind; empty when it does neither.
func (s *session) deletionQuestion(t *infrav1.Terraform) string {
	key, targets := keyOf(t), strings.Join(t.Spec.Targets, ", ")
	switch {
	case !t.DeletionTimestamp.IsZero() || !mayHaveResources(t):
		return ""
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf("Deleting %s leaves what it manages where it is, and nothing manages it any more. The state stays, too: %s. "+
			"A stack of the same name takes it over.\nTo destroy the resources first:\n    yuba destroy %s", key, placeOfState(t), s.call(key))
	case targets != "":
		return fmt.Sprintf("Deleting %s destroys what its spec.targets name: %s. There is no undo. Its other resources stay, and so does the state: %s.",
			key, targets, placeOfState(t))
	}
	return fmt.Sprintf("Deleting %s destroys everything that it manages. There is no undo.", key)
}

// whatStays says what a deletion has left behind.
func whatStays(t *infrav1.Terraform) string {
	switch {
	case !mayHaveResources(t):
		return ""
	case !t.Spec.DestroyResourcesOnDeletion:
		return fmt.Sprintf(" What it managed stays, and nothing manages it any more. The state stays: %s.", placeOfState(t))
	case len(t.Spec.Targets) > 0:
		return fmt.Sprintf(" What spec.targets do not name stays, and so does the state: %s.", placeOfState(t))
	}
	return ""
}

// mayHaveResources tells whether the stack may manage anything: it applied, or found a state that it did not make.
func mayHaveResources(t *infrav1.Terraform) bool {
	s := &t.Status
	destroyed := t.Spec.Destroy && conditionOf(t, infrav1.ConditionReady).Status == metav1.ConditionTrue
	return (s.LastAppliedRevision != "" || s.LastAppliedRun != "" || s.TakenOver != nil) && !destroyed
}

// placeOfState says where the state is kept.
func placeOfState(t *infrav1.Terraform) string {
	if t.KeepsOwnState() {
		return "in the stack's own backend"
	}
	return "Secret " + t.StateSecretName()
}

// awaitGone shows what a deletion does until the stack is gone, and why it does not go on.
func (s *session) awaitGone(ctx context.Context, key types.NamespacedName, deleted *infrav1.Terraform) error {
	f := follower{session: s, key: key, before: lastRunOf(deleted)}
	for {
		t, err := s.waitFor(ctx, key, func(t *infrav1.Terraform) verdict {
			if t.UID != deleted.UID || t.Status.CurrentRun != nil && t.Status.CurrentRun.ID != f.before {
				return done
			}
			if ready := conditionOf(t, infrav1.ConditionReady); ready.Status == metav1.ConditionFalse && ready.ObservedGeneration == t.Generation {
				f.tell("Waiting: %s", firstLine(ready.Message, 300))
			}
			return notYet
		})
		if err != nil || t == nil || t.UID != deleted.UID {
			return err
		}
		if t, err = f.runs(ctx, t); err != nil || t == nil {
			return err
		}
	}
}
