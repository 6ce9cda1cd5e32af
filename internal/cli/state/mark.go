// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func newStateTaintCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateTaint, &cobra.Command{
		Use:   "taint NAME ADDRESS",
		Short: "Mark a resource, so that the next plan replaces it",
		Long: `Mark a resource in the state as tainted: the next plan replaces it. Like every change of a state, it is a run of its own, under the
state's lock. The command shows the change first, and asks. "yuba state untaint" takes it back.`,
		Example: "  yuba state taint vpc aws_instance.bastion\n  yuba state taint vpc 'aws_instance.worker[\"a\"]' --yes && yuba replan vpc --wait",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateAddresses, false),
	})
}

func newStateUntaintCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateUntaint, &cobra.Command{
		Use:   "untaint NAME ADDRESS",
		Short: "Take the mark of a tainted resource away",
		Long: `Take the mark of a tainted resource away, so that the next plan does not replace it: of one that "yuba state taint" marked, or
whose creation failed halfway and that you repaired. "yuba state list" shows which resources are tainted.`,
		Example: "  yuba state untaint vpc aws_instance.bastion",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateAddresses, false),
	})
}

func newStateReplaceProviderCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateReplaceProvider, &cobra.Command{
		Use:   "replace-provider NAME FROM TO",
		Short: "Make another provider responsible for resources in the state",
		Long: `Make another provider responsible for all resources of a provider in the state: after a fork, or a move to another registry. FROM and TO
are sources, such as hashicorp/aws or registry.example.org/acme/aws. The new provider must know the same resource types. Change the
program, too: its required_providers name the source.`,
		Example: "  yuba state replace-provider vpc hashicorp/aws registry.example.org/acme/aws",
		Args:    ui.Arguments(3, 3), ValidArgsFunction: a.StackNames(false),
	})
}

func newStateRefreshCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateRefresh, &cobra.Command{
		Use:   "refresh NAME [ADDRESS]...",
		Short: "Record what others changed, without changing anything",
		Long: `Record in the state what others changed, as "tofu apply -refresh-only" does, of all resources or of those at the addresses. The
command shows the plan first, and asks; the run then records what it finds, even if something else changed since. The real infrastructure stays as it is: the next
plan shows what the program would change back.`,
		Example: "  yuba state refresh vpc --dry-run\n  yuba state refresh vpc aws_security_group.web",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: a.StackAnd(stateAddresses, true),
	})
}
