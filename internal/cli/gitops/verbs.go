// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// AddCreateCommands gives "yuba create" its commands for the kinds of Flux.
func AddCreateCommands(a *session.App, create *cobra.Command) {
	addKindCommands(create, func(k session.Kind) bool { return blueprints[k.Plural] != nil }, func(k session.Kind) *cobra.Command { return newCreateKindCommand(a, k) })
}

// AddDeleteCommands gives "yuba delete" its commands for objects that are not stacks.
func AddDeleteCommands(a *session.App, remove *cobra.Command) {
	addKindCommands(remove, func(k session.Kind) bool { return !k.Made }, func(k session.Kind) *cobra.Command { return newDeleteKindCommand(a, k) })
}

// AddReconcileCommands gives "yuba reconcile" its commands for objects that are not stacks.
func AddReconcileCommands(a *session.App, reconcile *cobra.Command) {
	addKindCommands(reconcile, func(k session.Kind) bool { return k.Fetched }, func(k session.Kind) *cobra.Command { return newReconcileKindCommand(a, k) })
}

// AddSuspendCommands gives "yuba suspend" and "yuba resume" their commands for objects that are not stacks.
func AddSuspendCommands(a *session.App, verb *cobra.Command, suspend bool) {
	addKindCommands(verb, func(k session.Kind) bool { return k.Suspends }, func(k session.Kind) *cobra.Command { return newSuspendKindCommand(a, k, suspend) })
}

// newSuspendKindCommand suspends or resumes objects that are not stacks.
func newSuspendKindCommand(a *session.App, k session.Kind, suspend bool) *cobra.Command {
	verb, short := "resume", "Resume suspended "+k.People()
	long := short + ". Yuba reconciles changes made meanwhile at once."
	if suspend {
		verb, short = "suspend", "Suspend "+k.People()+" until they are resumed"
		long = short + ": Yuba does not reconcile changes made meanwhile. Objects that they created stay."
	}
	return listing.SuspendCommand(a, k, suspend, &cobra.Command{
		Use: k.Word + " NAME...", Aliases: k.Aliases(), Short: short, Long: long,
		Example: "  " + k.Call(verb, "infra") + "\n  " + k.Call(verb, "--all") + " -n team-a",
	})
}

// addKindCommands gives a verb a command for each kind that it is about, those of sources below the word source.
func addKindCommands(verb *cobra.Command, wanted func(session.Kind) bool, command func(session.Kind) *cobra.Command) {
	short := strings.ToUpper(verb.Name()[:1]) + verb.Name()[1:] + " a Git, OCI or bucket source"
	sources := ui.Group(&cobra.Command{
		Use: "source COMMAND", Aliases: []string{"sources"},
		Short: short,
		Long:  short + " of stacks and Kustomizations: a GitRepository, OCIRepository or Bucket.",
	})
	for _, k := range session.AllKinds {
		switch {
		case !wanted(k) || k.GVK == session.StackKind:
		case k.Source:
			sources.AddCommand(command(k))
		default:
			verb.AddCommand(command(k))
		}
	}
	if sources.HasSubCommands() {
		sources.Example = "  " + sources.Commands()[0].Example[2:]
		verb.AddCommand(sources)
	}
}
