// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
)

// NewDiffCommand is "yuba diff".
func NewDiffCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "diff",
		Short:   "Show what local files would change",
		Long:    "Show what local files would change, before you commit them.",
		Example: "  yuba diff kustomization apps --path ./apps",
	}, newDiffKustomizationCommand(a))
}

func newDiffKustomizationCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "kustomization NAME --path DIR",
		Aliases: []string{"ks"},
		Short:   "Show what a Kustomization would change with local files",
		Long: `Build local files as "yuba build kustomization" does, let the API apply them as a dry run, and show the objects that would be
created, changed or deleted. The command changes nothing. It hides values of Secrets, and does not compare values that are
encrypted with SOPS.

The exit code is 0 without differences, 1 with differences, and higher if the comparison failed.`,
		Example: "  yuba diff kustomization apps --path ./apps\n  yuba diff kustomization apps --path ./apps --kustomization-file apps.yaml -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.Kustomizations, false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	b := &builder{App: a}
	b.flags(cmd)
	cmd.Flags().Bool("progress-bar", false, "ignored; accepted for scripts written for flux")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, objects, err := b.build(cmd, args[0])
		if err == nil {
			err = b.diff(cmd.Context(), k, objects, out)
		}
		return session.DiffError(err)
	}
	return cmd
}

func (b *builder) diff(ctx context.Context, k *kustomizev1.Kustomization, objects []*unstructured.Unstructured, out *ui.Output) error {
	all, err := diff.Compare(ctx, b.api, k, objects)
	if err != nil {
		return fmt.Errorf("compare the build of Kustomization %s/%s with the API: %w", k.Namespace, k.Name, err)
	}
	changes := []diff.Change{}
	counts := map[diff.Action]int{}
	for _, change := range all {
		counts[change.Action]++
		if change.Action != diff.Unchanged && change.Action != diff.Skipped {
			changes = append(changes, change)
		}
	}
	if out.Machine() {
		if err := out.Print(b.Out, changes); err != nil {
			return err
		}
	} else {
		colors := map[diff.Action]string{diff.Created: ui.ColorGreen, diff.Configured: ui.ColorYellow, diff.Deleted: ui.ColorRed}
		for _, change := range changes {
			change.Write(b.Out, func(action diff.Action, text string) string { return b.Paint(b.Out, colors[action], text) })
		}
		b.News("%d to create, %d to change, %d to delete, %d unchanged.", counts[diff.Created], counts[diff.Configured], counts[diff.Deleted], counts[diff.Unchanged]+counts[diff.Skipped])
	}
	if len(changes) > 0 {
		return ui.WithCode(ui.ExitDifferent, errors.New(""))
	}
	return nil
}
