// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Created shows an object that a command has created.
type Created func(ctx context.Context, s *session.Session, object *unstructured.Unstructured) error

// Command makes cmd create an object of a kind from fields, or write its manifest with --export.
func Command(a *session.App, cmd *cobra.Command, k session.Kind, f *Fields, out *ui.Output, created Created) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(1, 1), ui.NoNames
	export := cmd.Flags().Bool("export", false, "write the manifest to standard output and create nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		open := a.Connect
		if *export {
			open = a.Unconnected
		}
		s, err := open()
		if err != nil {
			return err
		}
		keys, err := s.Keys(cmd, k, args)
		if err != nil {
			return err
		}
		object, err := f.Object(k, keys[0])
		switch {
		case err != nil:
			return err
		case *export && out.Form == "name":
			return ui.UsageErrorf(cmd, "-o name: --export writes json or yaml")
		case *export:
			return (&ui.Output{Form: cmp.Or(out.Form, "yaml")}).Print(a.Out, object.Object)
		}
		err = s.Objects.Create(cmd.Context(), object, session.FieldOwner)
		switch name, key := k.Named(keys[0]), keys[0]; {
		case apierrors.IsAlreadyExists(err):
			return ui.Exitf(ui.ExitFailure, "create %s: it exists already. Change it:\n    yuba kubectl edit %s %s -n %s", name, k.Plural, key.Name, key.Namespace)
		case apierrors.IsNotFound(err):
			return ui.Exitf(ui.ExitNotFound, "create %s: %w\nIf the namespace does not exist, create it:\n    yuba kubectl create namespace %s", name, err, key.Namespace)
		case err != nil:
			return s.ObjectError("create", k, key, err)
		}
		return created(cmd.Context(), s, object)
	}
	return cmd
}
