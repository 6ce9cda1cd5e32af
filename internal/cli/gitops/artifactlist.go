// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/publish"
)

// NewListArtifactsCommand is "yuba list artifacts".
func NewListArtifactsCommand(a *session.App) *cobra.Command {
	var registry registryFlags
	var o publish.ListOptions
	cmd := &cobra.Command{
		Use:   "artifacts oci://HOST/REPOSITORY",
		Short: "List the artifacts of a repository in an OCI registry",
		Long: `List the artifacts of a repository in an OCI registry: the highest version first, then the other tags, without
signatures. With -o wide also their digests.

` + registryText,
		Example: "  yuba list artifacts oci://registry.example.com/iac/network\n" +
			"  yuba list artifacts oci://registry.example.com/iac/network --filter-semver \">=1.4.0 <2.0.0\" -o json",
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Range, "filter-semver", "", "list only versions in this `range`, such as \">=1.4.0 <2.0.0\"")
	flags.StringVar(&o.Pattern, "filter-regex", "", "list only tags that match this regular `expression`")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "semver-filter":
			name = "filter-semver"
		case "regex-filter":
			name = "filter-regex"
		}
		return pflag.NormalizedName(name)
	})
	registry.add(cmd)
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = registry.on(a, func(ctx context.Context, repository string, access publish.Access) error {
		o.Access = access
		artifacts, err := publish.List(ctx, repository, o)
		if err != nil {
			return err
		}
		l := &listing.List{Answer: append([]publish.Artifact{}, artifacts...), None: "No artifacts found in " + repository + ".",
			Rows: [][]string{{"ARTIFACT", "DIGEST", "SOURCE", "REVISION"}}, Wide: []string{"DIGEST"}}
		for _, artifact := range artifacts {
			l.Add(artifact.URL, artifact.URL, artifact.Digest, artifact.Source, artifact.Revision)
		}
		return l.Show(a.Console, out)
	})
	return cmd
}
