// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// newProviderCommand is "yuba registry provider".
func newProviderCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "provider",
		Short:   "Publish and list your own providers",
		Long:    `Publish and list providers of your own. For those of other registries, see "yuba registry mirror".`,
		Example: "  yuba registry provider push dist/ acme/thing@1.0.0\n  yuba registry provider list\n  yuba registry provider show acme/thing@1.0.0",
	}, newProviderPushCommand(a), newProviderListCommand(a), newProviderShowCommand(a))
}

func newProviderListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [REGISTRY_NAMESPACE]", Aliases: []string{"ls"},
		Short:   "List your own providers",
		Long:    "List the providers that were published in the registry, or in one of its namespaces, with the newest version of each.",
		Example: "  yuba registry provider list\n  yuba registry provider list acme -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.FirstWord(registryNamespaces),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		namespace := ""
		if len(args) > 0 {
			namespace = args[0]
		}
		list, err := s.Content.RegistryProviders(cmd.Context(), namespace)
		if err != nil {
			return explained(err, "list the registry's providers")
		}
		return listedRegistryProviders(list, namespace, time.Now()).Show(s.Console, out)
	})
	return cmd
}

func listedRegistryProviders(list content.RegistryProviderList, namespace string, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "The registry has no providers of its own. Publish one:\n    yuba registry provider push DIR NAMESPACE/NAME@1.0.0",
		Rows: [][]string{{"PROVIDER", "VERSION", "PLATFORMS", "PUBLISHED", "BY", "VERSIONS"}}, Wide: []string{"BY"}}
	if namespace != "" {
		l.None = emptyNamespace(namespace, "providers")
	}
	for _, p := range list.Items {
		l.Add(p.Provider, p.Provider, p.Latest.Version, strconv.Itoa(len(p.Latest.Packages)), ui.Age(now, p.Latest.Published)+" ago", p.Latest.By, strconv.Itoa(p.Versions))
	}
	return l
}

func newProviderShowCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAMESPACE/NAME[@VERSION]",
		Short:   "Show the versions of a provider, or the packages of one",
		Long:    "Show the versions of one of your own providers, newest first. With a version, show its packages with their hashes.",
		Example: "  yuba registry provider show acme/thing\n  yuba registry provider show acme/thing@1.0.0 -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.FirstWord(providerNames),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		v, err := parseProviderVersion(args[0])
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		if v.Version == "" {
			list, err := s.Content.ProviderReleases(cmd.Context(), v.Provider)
			if err != nil {
				return explained(err, "show "+args[0])
			}
			return listedProviderReleases(list, time.Now()).Show(s.Console, out)
		}
		release, err := s.Content.ProviderRelease(cmd.Context(), v)
		if err != nil {
			return explained(err, "show "+args[0])
		}
		return listedPackages(release).Show(s.Console, out)
	})
	return cmd
}

func listedProviderReleases(list content.ProviderReleaseList, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "There are no versions.", Rows: [][]string{{"VERSION", "PROTOCOLS", "PLATFORMS", "PUBLISHED", "BY"}}}
	for _, r := range list.Items {
		if r.Unverified != "" {
			l.Sum = strings.TrimPrefix(l.Sum+"\n"+r.Version+" is NOT VERIFIED, and not offered in the mirror: "+r.Unverified+".", "\n")
		}
		l.Add(r.Provider+"@"+r.Version, r.Version, strings.Join(r.Protocols, ","), strings.Join(slices.Sorted(maps.Keys(r.Packages)), ","), ui.Age(now, r.Published)+" ago", r.By)
	}
	return l
}

func listedPackages(r content.ProviderRelease) *listing.List {
	l := &listing.List{Answer: r, None: "There are no packages.", Rows: [][]string{{"PLATFORM", "SIZE", "HASHES"}}}
	for _, platform := range slices.Sorted(maps.Keys(r.Packages)) {
		l.Add(platform, platform, ui.Size(r.Packages[platform].Size), strings.Join(r.Packages[platform].Hashes, " "))
	}
	l.Sum = "Protocols " + strings.Join(r.Protocols, ", ") + "."
	if r.Signer != "" {
		l.Sum += " Signed by " + r.Signer + "."
	}
	if r.Unverified != "" {
		l.Sum += " NOT VERIFIED, and not offered in the mirror: " + r.Unverified + "."
	}
	return l
}

// parseProviderVersion parses NAMESPACE/NAME or NAMESPACE/NAME@VERSION.
func parseProviderVersion(text string) (layout.ProviderVersion, error) {
	name, version, _ := strings.Cut(text, "@")
	p, err := layout.ParseProvider(name)
	v := layout.ProviderVersion{Provider: p, Version: version}
	if err == nil && version != "" {
		_, err = layout.ParseVersion(version)
	}
	return v, err
}
