// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/version"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner"
	"github.com/yuba-dev/yuba/internal/runs/runner/shell"
)

// NewShellCommand is "yuba shell".
func NewShellCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "shell NAME [-- COMMAND [ARGUMENT]...]", SuggestFor: []string{"exec", "ssh"},
		Aliases: []string{"break-glass", "break-the-glass"},
		Short:   "Open a shell in a stack's prepared working directory",
		Long: `Open a shell in a stack's working directory, prepared as for a run: with its program, state, variables, environment and
tofu, under the state's lock. Yuba stores every state that tofu writes there, as in any run, and releases the lock when the
shell ends, however it ends. With a command behind "--", yuba runs that command instead of a shell and ends with its exit code.

It works on the machine that executes the runs, as the user that Yuba runs as, and for administrators only. tofu is
confined as in any run; the shell itself is not. No other run of the stack starts meanwhile.`,
		Example: "  yuba shell vpc\n  yuba shell vpc -- tofu state list\n  yuba shell vpc -- tofu apply -refresh-only",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash != 1 && !(dash < 0 && len(args) == 1) {
			return ui.UsageErrorf(cmd, "put the command behind --, as in: yuba shell NAME -- tofu state list")
		}
		return a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, command []string) error {
			return openShell(ctx, s, key, command)
		})(cmd, args)
	}
	return cmd
}

// openShell requests a shell and acts as its runner until it ends.
func openShell(ctx context.Context, s *session.Session, key types.NamespacedName, command []string) error {
	grant, err := s.Content.Shell(ctx, key.Namespace, key.Name)
	if err != nil {
		return s.StackError("open a shell for", key, err)
	}
	terminal := &shell.Terminal{In: s.In, Out: s.Out, Err: s.Err, Command: command, Shell: os.Getenv("SHELL"), Term: os.Getenv("TERM"),
		Interactive: len(command) == 0 && s.Interactive(), News: s.News}
	if terminal.Interactive {
		s.News("Preparing the working directory of %s …", key)
		terminal.Ready = func() {
			s.News("You are in the working directory of %s and hold its lock. tofu is on PATH, and Yuba stores every state that it writes.\n"+
				"No other run of the stack starts until you leave: exit", key)
		}
	}
	code, result, err := runner.OpenShell(ctx, grant, version.String(), terminal)
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		if terminal.Interactive || result.Outcome != run.OutcomeSucceeded {
			s.News("Warning: %s", warning)
		}
	}
	if result.Outcome != run.OutcomeSucceeded {
		return ui.Exitf(ui.ExitRunFailed, "open a shell for %s: %s", key, strings.TrimRight(result.Error, "\n"))
	}
	if terminal.Interactive {
		s.News("Released the lock of %s.", key)
	}
	if code != 0 {
		return ui.WithCode(code, errors.New("")) // the command has printed its error
	}
	return nil
}
