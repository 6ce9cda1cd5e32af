// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/runner"
	"github.com/yuba-dev/yuba/internal/version"
)

// newRunnerCommand is what the server starts; nobody else needs it.
func newRunnerCommand(a *app) *cobra.Command {
	var o runner.Options
	var format string
	var verbose bool
	cmd := &cobra.Command{
		Use:     "runner",
		Short:   "Carry out the runs of a server (started by the server itself)",
		Long:    "Carry out the runs of a server. \"yuba up\" starts it by itself, and it outlives that, so that a server can be replaced while runs are at work.",
		Hidden:  true,
		Example: "  yuba runner --dir /var/lib/yuba/runner --work /var/lib/yuba/work --tofu /usr/bin/tofu --sandbox /usr/bin/yuba-sandbox",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", "", "the runner's directory")
	flags.StringVar(&o.WorkRoot, "work", "", "the directory of working directories")
	flags.StringVar(&o.ProviderMirror, "provider-mirror", "", "a filesystem mirror of providers")
	flags.StringVar(&o.Tofu, "tofu", "", "the tofu that runs use")
	flags.StringVar(&o.Tools, "tools", "", "a directory with other versions of the tool, side by side")
	flags.StringVar(&o.Sandbox, "sandbox", "", "the yuba-sandbox that confines it")
	flags.IntVar(&o.Capacity, "capacity", 0, "how many runs are carried out at a time")
	flags.StringVar(&o.Build, "build", "", "the server's mark of what it starts")
	flags.StringVar(&format, "log-format", "text", "the log's format: text or json")
	flags.BoolVarP(&verbose, "verbose", "v", false, "log more")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := a.logger(cmd, format, verbose)
		if err != nil {
			return err
		}
		for flag, value := range map[string]string{"dir": o.Dir, "work": o.WorkRoot, "tofu": o.Tofu, "sandbox": o.Sandbox} {
			if value == "" {
				return usageErrorf(cmd, "--%s is missing", flag)
			}
		}
		o.Log, o.Version = log, version.String()
		// The runner minds the signals itself: it must not leave an apply because a terminal was closed.
		return runner.Run(context.WithoutCancel(cmd.Context()), o)
	}
	return cmd
}
