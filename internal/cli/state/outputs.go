// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewOutputsCommand is "yuba outputs".
func NewOutputsCommand(a *session.App) *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use: "outputs NAME [OUTPUT]", SuggestFor: []string{"output"},
		Short: "Show the outputs of a stack",
		Long: `Show the outputs of a stack from its state, or the value of one output: a string as it is, everything else as
JSON. The command shows sensitive values only with --show-sensitive.`,
		Example: "  yuba outputs vpc\n  yuba outputs vpc subnet_ids | jq .[0]\n  yuba outputs vpc -o json --show-sensitive",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: a.StackAnd(outputNames, false),
	}
	cmd.Flags().BoolVar(&reveal, "show-sensitive", false, "show the values of sensitive outputs, too")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		outputs, err := s.Content.Outputs(ctx, key.Namespace, key.Name)
		if err != nil {
			if session.NoStack(err) {
				return s.StackError("read the outputs of", key, err)
			}
			return fmt.Errorf("read the outputs of %s: %w", key, err)
		}
		if len(rest) == 1 {
			return showOutput(s, key, rest[0], outputs, reveal)
		}
		if len(outputs) == 0 || out.Machine() {
			l := listing.List{Answer: masked(outputs, reveal), None: key.String() + " has no outputs.", Names: slices.Sorted(maps.Keys(outputs))}
			return l.Show(s.Console, out)
		}
		return listing.PrintOutputs(s.Out, outputs, reveal)
	})
	return cmd
}

func showOutput(s *session.Session, key types.NamespacedName, name string, outputs map[string]content.Output, reveal bool) error {
	o, ok := outputs[name]
	switch {
	case !ok:
		return ui.Exitf(ui.ExitNotFound, "%s has no output %q. List them:\n    yuba outputs %s", key, name, s.Call(key))
	case o.Sensitive && !reveal:
		return ui.Exitf(ui.ExitFailure, "output %q of %s is sensitive. Show it anyway:\n    yuba outputs %s %s --show-sensitive", name, key, s.Call(key), name)
	}
	var text string
	if json.Unmarshal(o.Value, &text) != nil {
		text = string(o.Value)
	}
	_, err := fmt.Fprintln(s.Out, text)
	return err
}

// masked replaces sensitive values by null, unless they are to be shown.
func masked(outputs map[string]content.Output, reveal bool) map[string]content.Output {
	if reveal {
		return outputs
	}
	shown := maps.Clone(outputs)
	for name, o := range shown {
		if o.Sensitive {
			o.Value = json.RawMessage("null")
			shown[name] = o
		}
	}
	return shown
}
