// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newOutputsCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "outputs KIND NAME [OUTPUT]", Aliases: []string{"output"},
		Short: "Show the outputs of an instance",
		Long: `Show the outputs of an instance that its definition lists and that are not sensitive, or the value of one. The command names the
Secret with all outputs, and never shows what is in it.`,
		Example: "  yuba app outputs bucket photos\n  yuba app outputs bucket photos endpoint\n  yuba app outputs bucket team-a/photos -o json",
		Args:    ui.Arguments(2, 3), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = onInstance(a, func(ctx context.Context, s *session.Session, _ session.Kind, i content.Instance, rest []string) error {
		status, err := read(ctx, s, i)
		if err != nil {
			return err
		}
		secret := "It has no Secret with outputs yet"
		if ref := status.OutputsSecretRef; ref != nil {
			secret = "The Secret " + ref.Name + " has all outputs, including sensitive ones"
		}
		values := map[string]json.RawMessage{}
		for name, value := range status.Outputs {
			values[name] = value.Raw
		}
		names := slices.Sorted(maps.Keys(values))
		if wanted := strings.Join(rest, ""); wanted != "" {
			value, known := values[wanted]
			switch {
			case !known:
				return ui.Exitf(ui.ExitNotFound, "%s %s/%s shows no output %q. It shows: %s. %s", i.Resource, i.Namespace, i.Name, wanted, strings.Join(names, ", "), secret)
			case out.Machine():
				return out.Print(s.Out, value)
			}
			fmt.Fprintln(s.Out, plain(value))
			return nil
		}
		if out.Machine() {
			return out.Print(s.Out, values)
		}
		for _, name := range names {
			fmt.Fprintf(s.Out, "%s = %s\n", name, diagnostic.Printable(string(values[name])))
		}
		if len(names) == 0 {
			s.News("There are no outputs to show yet.")
		}
		s.News("%s.", secret)
		return nil
	})
	return cmd
}

// plain is a text without quotes, and any other value as JSON.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return diagnostic.Printable(text)
	}
	return diagnostic.Printable(string(value))
}
