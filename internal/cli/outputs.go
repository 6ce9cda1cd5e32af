// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// hiddenValue stands where a sensitive value would.
const hiddenValue = "<sensitive>"

func newOutputsCommand(a *app) *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use: "outputs NAME [OUTPUT]", SuggestFor: []string{"output"},
		Short: "Show the outputs of a stack",
		Long: `Show the outputs of a stack as its state has them, or the value of one of them: a string as it is, everything else as
JSON. Sensitive values are only shown with --show-sensitive.`,
		Example: "  yuba outputs vpc\n  yuba outputs vpc subnet_ids | jq .[0]\n  yuba outputs vpc -o json --show-sensitive",
		Args:    arguments(1, 2), ValidArgsFunction: a.stackAnd(outputNames, false),
	}
	cmd.Flags().BoolVar(&reveal, "show-sensitive", false, "show the values of sensitive outputs, too")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, rest []string) error {
		outputs, err := s.content.Outputs(ctx, key.Namespace, key.Name)
		if err != nil {
			if noStack(err) {
				return s.stackError("read the outputs of", key, err)
			}
			return fmt.Errorf("read the outputs of %s: %w", key, err)
		}
		if len(rest) == 1 {
			return s.showOutput(key, rest[0], outputs, reveal)
		}
		return s.showAllOutputs(key, outputs, reveal, out)
	})
	return cmd
}

func (s *session) showOutput(key types.NamespacedName, name string, outputs map[string]content.Output, reveal bool) error {
	o, ok := outputs[name]
	switch {
	case !ok:
		return exitf(exitNotFound, "%s has no output %q. See which ones there are:\n    yuba outputs %s", key, name, s.call(key))
	case o.Sensitive && !reveal:
		return exitf(exitError, "output %q of %s is sensitive. Show it all the same:\n    yuba outputs %s %s --show-sensitive", name, key, s.call(key), name)
	}
	var text string
	if json.Unmarshal(o.Value, &text) != nil {
		text = string(o.Value)
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

func (s *session) showAllOutputs(key types.NamespacedName, outputs map[string]content.Output, reveal bool, out *output) error {
	switch {
	case out.form == "name":
		for _, name := range slices.Sorted(maps.Keys(outputs)) {
			fmt.Fprintln(s.out, name)
		}
		return nil
	case out.machine():
		return out.print(s.out, masked(outputs, reveal))
	case len(outputs) == 0:
		s.news("%s has no outputs.", key)
		return nil
	}
	return printOutputs(s.out, outputs, reveal)
}

// masked replaces sensitive values unless they are wanted; the keys stay, so that a program finds what it looks for.
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

// printOutputs writes NAME = VALUE, sorted, as tofu does.
func printOutputs(w io.Writer, outputs map[string]content.Output, reveal bool) error {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		value := hiddenValue
		if o := outputs[name]; !o.Sensitive || reveal {
			indented, err := plainJSON(o.Value)
			if err != nil {
				return fmt.Errorf("read output %q: %w", name, err)
			}
			value = diagnostic.Printable(strings.TrimSuffix(string(indented), "\n"))
		}
		if _, err := fmt.Fprintf(w, "%s = %s\n", diagnostic.Printable(name), value); err != nil {
			return err
		}
	}
	return nil
}
