// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-runner executes the runs of a server. "yuba up" starts it, and it continues when the
// server stops, so that a server can be replaced during runs. It is a small program of its own,
// without Kubernetes, which takes most of yuba's memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/yuba-dev/yuba/internal/kit/memory"
	"github.com/yuba-dev/yuba/internal/kit/version"
	"github.com/yuba-dev/yuba/internal/runs/runner"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "yuba-runner: "+err.Error())
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	var o runner.Options
	flags := flag.NewFlagSet("yuba-runner", flag.ContinueOnError)
	o.AddFlags(flags)
	format := flags.String("log-format", "text", "the log's format: text or json")
	verbose := flags.Bool("verbose", false, "log more")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("read the arguments: unexpected %q. \"yuba up\" starts this program automatically", flags.Arg(0))
	}
	memory.KeepSmall()
	var err error
	if o.Log, err = newLog(*format, *verbose); err != nil {
		return err
	}
	o.Version, o.CA = version.String(), os.Getenv("YUBA_SERVER_CA")
	// The runner handles signals itself: it must not abandon an apply because a terminal was
	// closed.
	return runner.Run(context.Background(), o)
}

func newLog(format string, verbose bool) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		options.Level = slog.LevelDebug
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	}
	return nil, fmt.Errorf("read the arguments: --log-format %q: want text or json", format)
}
