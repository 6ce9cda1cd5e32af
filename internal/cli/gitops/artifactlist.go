// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	// People ask for it either way round.
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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(cmd); err != nil {
			return err
		}
		var err error
		if o.Access, err = registry.access(cmd, a.In); err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd.Context(), registry.timeout)
		defer cancel()
		artifacts, err := publish.List(ctx, args[0], o)
		if err != nil {
			return artifactError(err)
		}
		return showArtifacts(a, args[0], artifacts, out)
	}
	return cmd
}

// artifactsWide are the columns of artifacts that only -o wide shows.
var artifactsWide = []string{"DIGEST"}

func showArtifacts(a *session.App, repository string, artifacts []publish.Artifact, out *ui.Output) error {
	if out.Machine() {
		return out.Print(a.Out, append([]publish.Artifact{}, artifacts...))
	}
	if len(artifacts) == 0 {
		a.News("No artifacts found in %s.", repository)
		return nil
	}
	rows := [][]string{{"ARTIFACT", "DIGEST", "SOURCE", "REVISION"}}
	for _, artifact := range artifacts {
		rows = append(rows, []string{artifact.URL, artifact.Digest, artifact.Source, artifact.Revision})
	}
	if err := a.Table(rows, out, artifactsWide...); err != nil {
		return fmt.Errorf("list artifacts: %w", err)
	}
	return nil
}
