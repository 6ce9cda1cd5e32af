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
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// NewPullCommand is "yuba pull".
func NewPullCommand(a *session.App) *cobra.Command {
	return artifactGroup("pull", "Pull artifacts from OCI registries", newPullArtifactCommand(a))
}

func newPullArtifactCommand(a *session.App) *cobra.Command {
	var registry registryFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "artifact oci://HOST/REPOSITORY:TAG --output DIR",
		Short: "Extract an artifact into a directory",
		Long: `Extract an artifact, named by tag or digest, into a directory. The command creates the directory; an existing one must be
empty. It verifies the digest before any file appears there.

` + registryText,
		Example: "  yuba pull artifact oci://registry.example.com/iac/network:1.4.0 -o ./network\n" +
			"  yuba pull artifact oci://registry.example.com/iac/network@sha256:0123… -o ./network",
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "the directory (required)")
	_ = cmd.MarkFlagDirname("output") // the command has this flag
	registry.add(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if dir == "" {
			return ui.UsageErrorf(cmd, "--output is missing: name the directory")
		}
		return nil
	}
	cmd.RunE = registry.on(a, func(ctx context.Context, ref string, access publish.Access) error {
		pulled, err := publish.Pull(ctx, ref, dir, access)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, pulled.Digest)
		a.News("Extracted %s into %s.", pulled.URL, dir)
		for _, fact := range []struct{ label, value string }{{"Source", pulled.Source}, {"Revision", pulled.Revision}} {
			if fact.value != "" {
				a.News("%-*s%s", ui.LabelWidth, fact.label, diagnostic.Printable(fact.value))
			}
		}
		return nil
	})
	return cmd
}
