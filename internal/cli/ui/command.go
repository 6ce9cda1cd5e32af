// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Complete offers fixed values for a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// AddTimeoutFlag gives a command the flag --timeout, which WithTimeout reads. 0 sets no limit.
func AddTimeoutFlag(cmd *cobra.Command, byDefault time.Duration, usage string) {
	cmd.Flags().Duration("timeout", byDefault, usage)
}

// WithTimeout returns the command's context, limited by its flag --timeout if it has one.
func WithTimeout(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if limit, err := cmd.Flags().GetDuration("timeout"); err == nil && limit > 0 {
		return context.WithTimeout(cmd.Context(), limit)
	}
	return context.WithCancel(cmd.Context())
}

// Arguments requires a number of arguments, from least to most; a negative most sets no limit.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		case most >= 0 && len(args) > most:
			return UsageErrorf(cmd, "there are too many arguments: %s", cmd.UseLine())
		}
		return nil
	}
}

// Group makes cmd a group of other commands.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = NoSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
	return cmd
}

// NoSuchCommand rejects the arguments of a group.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := suggestions(cmd, args[0]); len(near) > 0 {
		message += ". Did you mean " + strings.Join(near, " or ") + "?"
	}
	return UsageErrorf(cmd, "%s", message)
}

// suggestions are the commands that a word may mean: in other programs, else by spelling.
func suggestions(cmd *cobra.Command, word string) []string {
	var named []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(word)) {
			named = append(named, c.Name())
		}
	}
	if len(named) > 0 {
		return named
	}
	return cmd.SuggestionsFor(word)
}

// Directories completes the first argument with directories.
func Directories(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// NoNames completes nothing: there are no arguments, or they are new names.
func NoNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// CompleteFlag completes the values of a flag.
func CompleteFlag(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
}
