// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func newLogsCommand(a *app) *cobra.Command {
	var o content.LogOptions
	var wanted logFilterFlags
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the log of a stack's run",
		Long: `Show the log of the run that is in hand, else of the last one, or of the run named. With -f it goes on until the run
ends, and waits for a run when there has been none. With -o json each line is what tofu wrote.`,
		Example: "  yuba logs vpc -f\n  yuba logs vpc --level error\n  yuba logs vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba logs vpc -o json | jq .type",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "the run whose log to show; \"yuba runs\" lists them")
	completeFlag(cmd, "run", a.aboutStack(runIDs))
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the run ends")
	wanted.add(cmd)
	out := addOutputFlag(cmd, "json")
	var filter *logFilter
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		filter, err = wanted.filter(cmd, time.Now())
		return err
	}
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		return s.logs(ctx, key, o, filter, out)
	})
	return cmd
}

func (s *session) logs(ctx context.Context, key types.NamespacedName, o content.LogOptions, filter *logFilter, out *output) error {
	// A stack that is not there is told as everywhere; the server's answer would be about the run.
	if _, err := s.get(ctx, key); err != nil {
		return err
	}
	if o.Follow && o.Run == "" {
		if err := s.awaitFirstRun(ctx, key); err != nil {
			return err
		}
	}
	show := func(line []byte) error {
		if out.machine() {
			_, err := s.out.Write(line)
			return err
		}
		if text := plan.RenderLine(line, s.colors(s.out)); text != "" {
			fmt.Fprintln(s.out, text)
		}
		return nil
	}
	log := &logReader{session: s, stack: key, options: o, line: func(line []byte) error {
		if !filter.shows(line) {
			return nil
		}
		return show(line)
	}}
	var err error
	if filter.tail >= 0 {
		err = log.runTail(ctx, filter, show)
	} else {
		err = log.run(ctx)
	}
	if apierrors.IsNotFound(err) {
		return exitf(exitNotFound, "%w", err)
	}
	return err
}

// runTail shows the end of what is there, and goes on from there if the log is followed.
func (r *logReader) runTail(ctx context.Context, filter *logFilter, show func([]byte) error) error {
	if r.options.Run == "" {
		// What is read twice must be the same run.
		list, err := r.session.content.Runs(ctx, r.stack.Namespace, r.stack.Name, 1)
		if err != nil {
			return r.session.stackError("list the runs of", r.stack, err)
		}
		if len(list.Items) > 0 {
			r.options.Run = list.Items[0].Spec.ID
		}
	}
	last, rest, follow := logTail{most: filter.tail}, r.line, r.options.Follow
	r.options.Follow = false
	r.line = func(line []byte) error {
		// Of a line that is being written the whole comes later.
		if whole := bytes.HasSuffix(line, []byte("\n")); (whole || !follow) && filter.shows(line) {
			last.add(line)
		}
		return nil
	}
	if err := r.run(ctx); err != nil {
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
	r.options.Follow, r.line = true, rest
	return r.run(ctx)
}

// awaitFirstRun waits until the stack has a run to follow.
func (s *session) awaitFirstRun(ctx context.Context, key types.NamespacedName) error {
	t, err := s.waitFor(ctx, key, func(t *infrav1.Terraform) verdict {
		if t.Status.CurrentRun != nil || t.Status.LastRun != nil {
			return done
		}
		return notYet
	})
	if err == nil && t == nil {
		return exitf(exitNotFound, "show the log of %s: the stack was deleted meanwhile", key)
	}
	return err
}
