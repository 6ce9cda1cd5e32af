// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
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
		Use:   "delete NAME",
		Short: "Delete a stack, and what it manages if it says so",
		Long: `Delete a stack. What it manages is destroyed first if the stack has spec.destroyResourcesOnDeletion; otherwise the
resources stay, and nothing manages them any more. The state and its history stay in either case.

The commands below delete sources, Kustomizations, receivers and alerts; a stack that is called like one of them is
NAMESPACE/NAME.`,
		Example: "  yuba delete vpc\n  yuba delete vpc --yes --wait=false",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "destroy without a question what the stack manages")
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
	destroys := t.Spec.DestroyResourcesOnDeletion && t.DeletionTimestamp.IsZero()
	if destroys && t.Status.LastAppliedRevision != "" {
		if err := s.mustConfirm(yes, "Deleting "+key.String()+" destroys everything that it manages. There is no undo."); err != nil {
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
	switch {
	case destroys:
		s.news("%s is deleted.", key)
	case t.Status.LastAppliedRevision != "" && !t.Spec.Destroy:
		s.news("%s is deleted. What it managed stays and is managed by nobody; its state is kept in the Secret %s.", key, t.StateSecretName())
	default:
		s.news("%s is deleted.", key)
	}
	return nil
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
