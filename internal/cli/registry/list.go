// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// newListCommand is "yuba registry list".
func newListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [REGISTRY_NAMESPACE]",
		Aliases: []string{"ls"},
		Short:   "List the modules of the registry",
		Long: `List the modules of the registry, or of one of its namespaces, with the version to use of each: the newest that is neither a
pre-release nor deprecated or revoked, if there is one.`,
		Example: "  yuba registry list\n  yuba registry list acme\n  yuba registry list -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.FirstWord(registryNamespaces),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		namespace := ""
		if len(args) > 0 {
			namespace = args[0]
		}
		list, err := s.Content.Modules(cmd.Context(), namespace)
		if err != nil {
			return explained(err, "list the registry's modules")
		}
		return listedModules(list, namespace, time.Now()).Show(s.Console, out)
	})
	return cmd
}

// emptyNamespace says that a namespace of the registry has none of these.
func emptyNamespace(namespace, of string) string {
	return fmt.Sprintf("The namespace %s of the registry is empty: it has no %s.", namespace, of)
}

func listedModules(list content.ModuleList, namespace string, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "The registry has no modules. Publish one:\n    yuba registry push DIR NAMESPACE/NAME/SYSTEM@1.0.0",
		Rows: [][]string{{"MODULE", "VERSION", "STATUS", "PUBLISHED", "BY", "VERSIONS"}}, Wide: []string{"BY"}}
	if namespace != "" {
		l.None = emptyNamespace(namespace, "modules")
	}
	for _, m := range list.Items {
		l.Add(m.Module, m.Module, m.Latest.Version, status(m.Latest), ui.Age(now, m.Latest.Published)+" ago", m.Latest.By, strconv.Itoa(m.Versions))
	}
	return l
}

// newVersionsCommand is "yuba registry versions".
func newVersionsCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "versions NAMESPACE/NAME/SYSTEM",
		Short:   "List the versions of a module",
		Long:    "List the versions of a module, newest first, with who published each and the notices of deprecated and revoked ones.",
		Example: "  yuba registry versions acme/vpc/aws\n  yuba registry versions acme/vpc/aws -o wide",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.FirstWord(moduleNames),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		m, err := layout.ParseModule(args[0])
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		list, err := s.Content.ModuleReleases(cmd.Context(), m)
		if err != nil {
			return explained(err, "list the versions of "+m.String())
		}
		return listedReleases(list, time.Now()).Show(s.Console, out)
	})
	return cmd
}

func listedReleases(list content.ReleaseList, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "There are no versions.",
		Rows: [][]string{{"VERSION", "STATUS", "PUBLISHED", "BY", "SIZE", "DIGEST", "NOTE"}}, Wide: []string{"SIZE", "DIGEST"}}
	for _, r := range list.Items {
		note := ""
		if r.Notice != nil {
			note = r.Notice.Reason
		}
		l.Add(r.ModuleVersion.String(), r.Version, status(r), ui.Age(now, r.Published)+" ago", r.By, ui.Size(r.Size), r.Digest, note)
	}
	return l
}
