// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/publish"
)

// NewTagCommand is "yuba tag".
func NewTagCommand(a *session.App) *cobra.Command {
	return artifactGroup("tag", "Tag artifacts in OCI registries", newTagArtifactCommand(a))
}

func newTagArtifactCommand(a *session.App) *cobra.Command {
	var registry registryFlags
	var tags []string
	cmd := &cobra.Command{
		Use:   "artifact oci://HOST/REPOSITORY:TAG --tag TAG",
		Short: "Add a tag to an artifact",
		Long:  "Add a tag to an artifact, or several, in the same repository. An existing tag moves.\n\n" + registryText,
		Example: "  yuba tag artifact oci://registry.example.com/iac/network:1.4.0 --tag stable\n" +
			"  yuba tag artifact oci://registry.example.com/iac/network@sha256:0123… --tag 1.4,1",
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().StringSliceVar(&tags, "tag", nil, "the new tag, or several (required)")
	registry.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(tags) == 0 {
			return ui.UsageErrorf(cmd, "--tag is missing: name the new tag")
		}
		access, err := registry.access(cmd, a.In)
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd.Context(), registry.timeout)
		defer cancel()
		made, err := publish.Tag(ctx, args[0], tags, access)
		for _, ref := range made {
			fmt.Fprintln(a.Out, ref)
		}
		return artifactError(err)
	}
	return cmd
}
