// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// completionPatience is how long a shell waits for names.
const completionPatience = 3 * time.Second

// stackNames completes the first argument, or each of them, with the names of stacks.
func (a *app) stackNames(every bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		var stacks infrav1.TerraformList
		s, err := a.connect()
		if err == nil {
			err = s.objects.List(ctx, &stacks, client.InNamespace(s.namespace))
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names := make([]cobra.Completion, 0, len(stacks.Items))
		for _, stack := range stacks.Items {
			names = append(names, stack.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// directories completes the first argument with directories.
func directories(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// noNames completes nothing: the arguments are none, or new names.
func noNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// objectNames completes the names of the objects of a kind.
func (a *app) objectNames(k kind, every bool) cobra.CompletionFunc {
	return a.objectWords(k, every, func(o *object) string { return o.GetName() })
}

// objectWords completes what objects of a kind are called, each word once.
func (a *app) objectWords(k kind, every bool, word func(*object) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		s, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		objects, _, err := s.listObjects(ctx, k, s.namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names := make([]cobra.Completion, 0, len(objects))
		for _, o := range objects {
			if name := word(o); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
