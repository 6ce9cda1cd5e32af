// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
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
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if len(tags) == 0 {
			return ui.UsageErrorf(cmd, "--tag is missing: name the new tag")
		}
		return nil
	}
	cmd.RunE = registry.on(a, func(ctx context.Context, ref string, access publish.Access) error {
		made, err := publish.Tag(ctx, ref, tags, access)
		for _, ref := range made {
			fmt.Fprintln(a.Out, ref)
		}
		return err
	})
	return cmd
}
