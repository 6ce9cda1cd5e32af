// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func newExampleCommand(a *session.App) *cobra.Command {
	from := &source{App: a}
	name := "example"
	cmd := &cobra.Command{
		Use:   "example [DEFINITION]",
		Short: "Write an example of an instance, ready for kubectl create -f",
		Long: `Write an example of an instance of the kind that a definition declares: with the required fields, and those for which the
definition's author gave an example. Other fields are comments that show their types and defaults.`,
		Example: "  yuba definition example bucket\n  yuba definition example bucket --name photos | yuba kubectl create -f -\n  yuba definition example -f bucket.yaml -o json",
		Args:    from.arguments, ValidArgsFunction: ui.NoNames,
	}
	from.flag(cmd)
	cmd.Flags().StringVar(&name, "name", name, "the name of the instance")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := from.find(cmd.Context(), args)
		if err != nil {
			return err
		}
		parsed, _, err := parse(d)
		if err != nil {
			return err
		}
		kind, version := parsed.Application.Kind, appv1.InstanceVersion.String()
		if out.Machine() {
			return out.Print(a.Out, map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}, "spec": parsed.Schema.Example()})
		}
		fmt.Fprint(a.Out, parsed.Schema.Manifest(version, kind, name, parsed.KeysOrder))
		return nil
	}
	return cmd
}

func newDocsCommand(a *session.App) *cobra.Command {
	from := &source{App: a}
	cmd := &cobra.Command{
		Use:   "docs [DEFINITION]",
		Short: "Write the reference page of a kind, as Markdown",
		Long: `Write the reference page of the kind that a definition declares, as Markdown: an example, and all fields with their types,
defaults and limits. Texts of the definition's author are escaped. With -o json, the same for programs, with form keys such as
x-cozystack-options.`,
		Example: "  yuba definition docs bucket\n  yuba definition docs -f bucket.yaml > bucket.md\n  yuba definition docs bucket -o json",
		Args:    from.arguments, ValidArgsFunction: ui.NoNames,
	}
	from.flag(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := from.find(cmd.Context(), args)
		if err != nil {
			return err
		}
		parsed, _, err := parse(d)
		if err != nil {
			return err
		}
		if out.Machine() {
			return out.Print(a.Out, map[string]any{"apiVersion": appv1.InstanceVersion.String(), "kind": parsed.Application.Kind, "plural": parsed.Application.Plural,
				"fields": parsed.Schema.Fields(parsed.KeysOrder), "outputs": outputsOf(parsed)})
		}
		fmt.Fprint(a.Out, schema.Page(pageOf(d, parsed)))
		return nil
	}
	return cmd
}

func pageOf(d *appv1.ApplicationDefinition, parsed *definition.Definition) schema.PageInput {
	in := schema.PageInput{Schema: parsed.Schema, APIVersion: appv1.InstanceVersion.String(), Kind: parsed.Application.Kind, Plural: parsed.Application.Plural,
		Order: parsed.KeysOrder, Outputs: outputsOf(parsed)}
	if board := d.Spec.Dashboard; board != nil {
		in.Title, in.Description = board.Singular, board.Description
	}
	return in
}

// outputsOf are the outputs that users of the kind see.
func outputsOf(d *definition.Definition) []string {
	if d.Terraform == nil {
		return nil
	}
	return slices.Clone(d.Terraform.Outputs)
}
