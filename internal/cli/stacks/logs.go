// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// NewLogsCommand is "yuba logs".
func NewLogsCommand(a *session.App) *cobra.Command {
	var o content.LogOptions
	var wanted logFilterFlags
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the log of a stack's run",
		Long: `Show the log of the current run, else of the last one, or of the named run. With -f the command follows the log until the
run ends, and waits for the first run if there is none. With -o json each line is as tofu wrote it.`,
		Example: "  yuba logs vpc -f\n  yuba logs vpc --level error\n  yuba logs vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba logs vpc -o json | jq .type",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "the run whose log to show; \"yuba runs\" lists them")
	ui.CompleteFlag(cmd, "run", a.AboutStack(runIDs))
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow the log until the run ends")
	wanted.add(cmd)
	out := ui.AddOutputFlag(cmd, "json")
	var filter *logFilter
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		filter, err = wanted.filter(cmd, time.Now())
		return err
	}
	// Reading the stack first reports a missing stack as other commands do, not as a missing run.
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return logs(ctx, s, session.KeyOf(t), o, filter, out)
	})
	return cmd
}

func logs(ctx context.Context, s *session.Session, key types.NamespacedName, o content.LogOptions, filter *logFilter, out *ui.Output) error {
	if o.Follow && o.Run == "" {
		if err := awaitFirstRun(ctx, s, key); err != nil {
			return err
		}
	}
	show := func(line []byte) error {
		if out.Machine() {
			_, err := s.Out.Write(line)
			return err
		}
		if text := plan.RenderLine(line, s.Colors(s.Out)); text != "" {
			fmt.Fprintln(s.Out, text)
		}
		return nil
	}
	log := &session.LogReader{Session: s, Stack: key, Options: o, Line: func(line []byte) error {
		if !filter.shows(line) {
			return nil
		}
		return show(line)
	}}
	var err error
	if filter.tail >= 0 {
		err = runTail(ctx, log, filter, show)
	} else {
		err = log.Run(ctx)
	}
	if apierrors.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "%w", err)
	}
	return err
}

// runTail shows the end of the existing log, and follows it from there if requested.
func runTail(ctx context.Context, r *session.LogReader, filter *logFilter, show func([]byte) error) error {
	if r.Options.Run == "" {
		// Both reads must be of the same run.
		list, err := r.Session.Content.Runs(ctx, r.Stack.Namespace, r.Stack.Name, 1)
		if err != nil {
			return r.Session.StackError("list the runs of", r.Stack, err)
		}
		if len(list.Items) > 0 {
			r.Options.Run = list.Items[0].Spec.ID
		}
	}
	last, rest, follow := logTail{most: filter.tail}, r.Line, r.Options.Follow
	r.Options.Follow = false
	r.Line = func(line []byte) error {
		// Skip a partial line: the whole line comes later.
		if whole := bytes.HasSuffix(line, []byte("\n")); (whole || !follow) && filter.shows(line) {
			last.add(line)
		}
		return nil
	}
	if err := r.Run(ctx); err != nil {
		return err
	}
	for _, line := range last.lines {
		if err := show(line); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	r.Options.Follow, r.Line = true, rest
	return r.Run(ctx)
}

func awaitFirstRun(ctx context.Context, s *session.Session, key types.NamespacedName) error {
	t, err := s.WaitFor(ctx, key, func(t *infrav1.Terraform) bool {
		return t.Status.CurrentRun != nil || t.Status.LastRun != nil
	})
	if err == nil && t == nil {
		return ui.Exitf(ui.ExitNotFound, "show the log of %s: the stack was deleted meanwhile", key)
	}
	return err
}
