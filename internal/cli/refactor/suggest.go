// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactor

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/state/suggest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// maxVersions limits the versions that --by rate reads.
const maxVersions = 50

func newSuggestCommand(a *session.App) *cobra.Command {
	var by string
	var blocks bool
	cmd := &cobra.Command{
		Use:   "suggest STACK",
		Short: "Suggest how a stack could be split",
		Long: `Suggest how the state of a stack could be split, from the dependencies in it, and print the file for "yuba refactor". Its comments
name the values that would go between the stacks: publish them as outputs or contracts. Nothing is changed.

--by module makes a stack of each module that the root module calls. --by owner makes one of each value of the tag or label "owner"
or "team". --by rate separates what changed in at least a fifth of the last 50 stored versions.

With --blocks the command prints removed and import blocks in place of the file, for a split with tofu alone.`,
		Example: "  yuba refactor suggest monolith --by module > split.hcl\n  yuba refactor suggest prod/monolith --by owner -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringVar(&by, "by", "module", "how to split: module, rate or owner")
	ui.Complete(cmd, "by", "module", "rate", "owner")
	cmd.Flags().BoolVar(&blocks, "blocks", false, "print removed and import blocks")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		file, err := stateOf(cmd.Context(), s, key, "")
		if err != nil {
			return err
		}
		part := suggest.ByModule
		switch by {
		case "module":
		case "owner":
			part = suggest.ByOwner
		case "rate":
			files, err := versionsOf(cmd.Context(), s, key)
			if err != nil {
				return err
			}
			part = suggest.ByRate(files)
		default:
			return ui.UsageErrorf(cmd, "--by %q: want module, rate or owner", by)
		}
		suggestion := suggest.Of(key.Name, file, part)
		if out.Machine() {
			return out.Print(s.Out, suggestion)
		}
		if len(suggestion.Parts) == 0 {
			return ui.Exitf(ui.ExitFailure, "the state of %s has nothing to split by %s. Try another --by: module, rate or owner", key, by)
		}
		text := suggestion.File(by == "module")
		if blocks {
			text = suggestion.Blocks()
		}
		fmt.Fprint(s.Out, text)
		return nil
	})
	return cmd
}

func stateOf(ctx context.Context, s *session.Session, key types.NamespacedName, version string) (*statefile.File, error) {
	data, err := s.Content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return nil, s.StackError("read the state of", key, err)
	}
	file, err := statefile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	if file.Encrypted {
		return nil, ui.Exitf(ui.ExitFailure, "OpenTofu encrypted the state of %s, and only tofu can read it", key)
	}
	return file, nil
}

// versionsOf reads the last versions of a state. One that cannot be read is left out.
func versionsOf(ctx context.Context, s *session.Session, key types.NamespacedName) (files []*statefile.File, err error) {
	list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, s.StackError("list the versions of the state of", key, err)
	}
	for _, v := range list.Items[:min(len(list.Items), maxVersions)] {
		if file, err := stateOf(ctx, s, key, v.ID); err == nil {
			files = append(files, file)
		}
	}
	return files, nil
}
