// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewCompletionCommand is "yuba completion".
func NewCompletionCommand(a *session.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `Print the script that lets a shell (bash, zsh, fish or powershell) complete commands, flags and names of stacks. Load
it when the shell starts.`,
		Example:   "  source <(yuba completion bash)\n  yuba completion zsh > \"${fpath[1]}/_yuba\"\n  yuba completion fish > ~/.config/fish/completions/yuba.fish",
		Args:      ui.Arguments(1, 1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return ui.UsageErrorf(cmd, "%q: want bash, zsh, fish or powershell", args[0])
		},
	}
}
