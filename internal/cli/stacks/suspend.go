// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// NewSuspendCommand is "yuba suspend".
func NewSuspendCommand(a *session.App) *cobra.Command {
	cmd := listing.SuspendCommand(a, session.Stacks, true, &cobra.Command{
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
	cmd := listing.SuspendCommand(a, session.Stacks, false, &cobra.Command{
		Use:     "resume NAME...",
		Short:   "Resume suspended stacks",
		Long:    "Resume suspended stacks. Yuba plans changes made meanwhile at once.",
		Example: "  yuba resume vpc dns\n  yuba resume --all -n team-a\n  yuba resume source git infra",
	})
	cmd.AddCommand(newCircuitCommand(a, false))
	return cmd
}
