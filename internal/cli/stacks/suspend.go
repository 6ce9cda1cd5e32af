// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewSuspendCommand is "yuba suspend".
func NewSuspendCommand(a *session.App) *cobra.Command {
	cmd := suspendCommand(a, true, &cobra.Command{
		Use:   "suspend NAME...",
		Short: "Suspend stacks until they are resumed",
		Long: `Suspend stacks: Yuba does not plan, apply, check for drift or delete until they are resumed. It cancels a plan that is
being made. An apply finishes; "yuba cancel" stops one.

The commands below suspend sources, Kustomizations, receivers and alerts; name a stack that is called like one of them
NAMESPACE/NAME.`,
		Example: "  yuba suspend vpc dns\n  yuba suspend --all -n team-a\n  yuba suspend --all-namespaces\n  yuba suspend kustomization apps",
	})
	cmd.AddCommand(newCircuitCommand(a, true))
	return cmd
}

// NewResumeCommand is "yuba resume".
func NewResumeCommand(a *session.App) *cobra.Command {
	cmd := suspendCommand(a, false, &cobra.Command{
		Use:     "resume NAME...",
		Short:   "Resume suspended stacks",
		Long:    "Resume suspended stacks. Yuba plans changes made meanwhile at once.",
		Example: "  yuba resume vpc dns\n  yuba resume --all -n team-a\n  yuba resume source git infra",
	})
	cmd.AddCommand(newCircuitCommand(a, false))
	return cmd
}

func suspendCommand(a *session.App, suspend bool, cmd *cobra.Command) *cobra.Command {
	var all, everywhere bool
	cmd.ValidArgsFunction = a.StackNames(true)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "all stacks of the namespace")
	cmd.Flags().BoolVar(&everywhere, "all-namespaces", false, "all stacks of all namespaces")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && everywhere:
			return ui.UsageErrorf(cmd, "use --all or --all-namespaces, not both")
		case (all || everywhere) && len(args) > 0:
			return ui.UsageErrorf(cmd, "name stacks or use --all, not both")
		case !all && !everywhere && len(args) == 0:
			return ui.UsageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		}
		return nil
	}
	cmd.RunE = a.InSession(out, func(cmd *cobra.Command, s *session.Session, args []string) error {
		if everywhere {
			s.Namespace, all = "", true
		}
		stacks, err := namedStacks(s, cmd, args, all)
		if err != nil {
			return err
		}
		action, word := cmd.Name(), "suspended"
		if !suspend {
			word = "resumed"
		}
		list := session.StackList()
		for _, key := range stacks {
			changed, err := s.Patch(cmd.Context(), action, key, session.Change{Spec: map[string]any{"suspend": suspend}})
			if err != nil {
				return err
			}
			s.News("%s is %s.", key, word)
			list.Items = append(list.Items, *changed)
		}
		if out.Machine() {
			return s.PrintStacks(list, out)
		}
		return nil
	})
	return cmd
}

// namedStacks are the stacks that the arguments name, or all of the namespace.
func namedStacks(s *session.Session, cmd *cobra.Command, args []string, all bool) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	if all {
		var stacks infrav1.TerraformList
		if err := s.Objects.List(cmd.Context(), &stacks, client.InNamespace(s.Namespace)); err != nil {
			return nil, fmt.Errorf("list stacks: %w", err)
		}
		for i := range stacks.Items {
			keys = append(keys, session.KeyOf(&stacks.Items[i]))
		}
		return keys, nil
	}
	for _, argument := range args {
		key, err := s.Stack(cmd, argument)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
