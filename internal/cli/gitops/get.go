// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewGetCommand is "yuba get".
func NewGetCommand(a *session.App) *cobra.Command {
	cmd := listing.StackCommand(a, &cobra.Command{
		Use:   "get [NAME]...",
		Short: "List sources, Kustomizations and other objects",
		Long: `List the objects of one of the kinds below: whether each is ready, its revision, and its message. "yuba get all" lists all
kinds.

Without a kind, the command lists stacks, as "yuba list" does; name a stack that is called like one of the commands
NAMESPACE/NAME.`,
		Example: "  yuba get all -A\n  yuba get sources git\n  yuba get kustomizations --status-selector ready=false\n  yuba get vpc",
	})
	cmd.AddCommand(listing.ObjectCommand(a, &cobra.Command{
		Use: "all", Args: ui.Arguments(0, 0),
		Short:   "List everything: sources, Kustomizations, releases, images, tenants, stacks, receivers, alerts",
		Long:    "List everything: sources, Kustomizations, HelmReleases, image automation, registries, templates and tenants, stacks, receivers,\nalerts and their providers.",
		Example: "  yuba get all\n  yuba get all -A --status-selector ready=false",
	}, session.AllKinds...), newGetSourcesCommand(a))
	for _, k := range session.AllKinds {
		cmd.AddCommand(getKindCommand(a, k, k.Plural, k.Also))
	}
	breakers := getKindCommand(a, session.CircuitBreakers, session.CircuitBreakers.Plural, session.CircuitBreakers.Also)
	breakers.Short = "List outages that affect many stacks"
	breakers.Long = "List circuit breakers, each of which represents an outage: whether it is open, how many stacks failed, since when, and why. They\nare cluster-wide."
	breakers.Example = "  yuba get circuitbreakers\n  yuba get cb --status-selector ready=false\n  yuba get cb --watch"
	cmd.AddCommand(breakers)
	return cmd
}

// newGetSourcesCommand is "yuba get sources", with the words of the other commands for sources.
func newGetSourcesCommand(a *session.App) *cobra.Command {
	sources := slices.DeleteFunc(slices.Clone(session.AllKinds), func(k session.Kind) bool { return !k.Source })
	cmd := listing.ObjectCommand(a, &cobra.Command{
		Use: "sources", Aliases: []string{"source"}, Args: ui.NoSuchCommand,
		Short:   "List all sources",
		Long:    "List all sources: GitRepositories, OCIRepositories, Buckets, ExternalArtifacts, HelmRepositories, HelmCharts and\nModuleSources.",
		Example: "  yuba get sources\n  yuba get sources git -A",
	}, sources...)
	cmd.AddCommand(listing.ObjectCommand(a, &cobra.Command{
		Use: "all", Args: ui.Arguments(0, 0), Short: "List all sources", Long: "List all sources, as \"yuba get sources\" does.", Example: "  yuba get sources all",
	}, sources...))
	for _, k := range sources {
		cmd.AddCommand(getKindCommand(a, k, k.Word, append([]string{k.Plural}, k.Also...)))
	}
	return cmd
}

func getKindCommand(a *session.App, k session.Kind, use string, also []string) *cobra.Command {
	also = slices.DeleteFunc(slices.Clone(also), func(name string) bool { return name == use })
	return listing.ObjectCommand(a, &cobra.Command{
		Use: use + " [NAME]...", Aliases: also, Args: ui.Arguments(0, -1), ValidArgsFunction: a.ObjectNames(k, true),
		Short:   "List " + k.People(),
		Long:    "List the " + k.People() + " of a namespace, of all namespaces, or the named ones: whether each is ready, its revision, and its message.",
		Example: fmt.Sprintf("  yuba get %s -A\n  yuba get %s web -o yaml\n  yuba get %s --watch", k.Plural, k.Plural, k.Plural),
	}, k)
}
