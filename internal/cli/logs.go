// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/content"
	"github.com/yuba-dev/yuba/internal/plan"
)

func newLogsCommand(a *app) *cobra.Command {
	var o content.LogOptions
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the log of a stack's run",
		Long: `Show the log of the run that is in hand, else of the last one, or of the run named. With -f it goes on until the run
ends, and waits for a run when there has been none. With -o json each line is what tofu wrote.`,
		Example: "  yuba logs vpc -f\n  yuba logs vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba logs vpc -o json | jq .type",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "the run whose log to show; \"yuba runs\" lists them")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the run ends")
	out := addOutputFlag(cmd, "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		s, key, err := a.open(cmd, args[0])
		if err != nil {
			return err
		}
		return s.logs(cmd.Context(), key, o, out)
	}
	return cmd
}

func (s *session) logs(ctx context.Context, key types.NamespacedName, o content.LogOptions, out *output) error {
	if o.Follow && o.Run == "" {
		if err := s.awaitFirstRun(ctx, key); err != nil {
			return err
		}
	}
	log := &logReader{session: s, stack: key, options: o, line: func(line []byte) error {
		if out.machine() {
			_, err := s.out.Write(line)
			return err
		}
		if text := plan.RenderLine(line, s.colors(s.out)); text != "" {
			fmt.Fprintln(s.out, text)
		}
		return nil
	}}
	read := log.run
	if o.Follow {
		read = log.runSoon
	}
	err := read(ctx)
	if apierrors.IsNotFound(err) {
		return exitf(exitNotFound, "show the log of %s: %w", key, err)
	}
	return err
}

// awaitFirstRun waits until the stack has a run to follow.
func (s *session) awaitFirstRun(ctx context.Context, key types.NamespacedName) error {
	if _, err := s.get(ctx, key); err != nil {
		return err
	}
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
