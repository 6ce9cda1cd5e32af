// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/verbs"
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
	s.News("%s", strings.TrimSpace(key.String()+" is deleted. "+verbs.StaysBehind(t)))
	return nil
}

// deletionQuestion says what a deletion destroys or leaves behind; empty if nothing.
func deletionQuestion(s *session.Session, t *infrav1.Terraform) string {
	says, left := verbs.Deletion(t)
	if left {
		says += "\nTo destroy the resources first:\n    yuba destroy " + s.Call(session.KeyOf(t))
	}
	return says
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
