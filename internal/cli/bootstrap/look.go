// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
	platformplan "github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func (g *group) newStatusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:     "status [NAME]",
		Short:   "Show the phases of a platform",
		Long:    "Show the phases of a platform with their times, and what each waits for. With --watch, until all are ready. The command changes nothing.",
		Example: "  yuba bootstrap status\n  yuba bootstrap status acme --watch\n  yuba bootstrap status acme -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show changes until all phases are ready")
	ui.AddTimeoutFlag(cmd, 0, "maximum time to wait with --watch")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = g.connected(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := g.platform(cmd.Context(), cmd, s, args)
		if err != nil {
			return err
		}
		switch {
		case watch:
			v := newView(s.Console, out)
			f := &follower{Session: s, key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, view: v}
			_, err := s.AwaitObject(cmd.Context(), session.Platforms, f.key, func(o *session.Object) bool {
				if o.As(&f.last) == nil {
					v.show(&f.last)
				}
				return f.last.Status.ObservedGeneration >= f.last.Generation && f.over()
			})
			v.end(&f.last)
			return err
		case out.Machine():
			return out.Print(s.Out, p)
		}
		for _, line := range lines(p, time.Now()) {
			fmt.Fprintln(s.Out, s.Paint(s.Out, line.color, line.text)) //nolint:errcheck // the reader is gone
		}
		if says := holder(cmd.Context(), s, p); says != "" {
			fmt.Fprintln(s.Out, "  "+diagnostic.Printable(says)) //nolint:errcheck // the reader is gone
		}
		return nil
	})
	return cmd
}

func (g *group) newLogsCommand() *cobra.Command {
	var o content.LogOptions
	cmd := &cobra.Command{
		Use:   "logs [NAME [PHASE]]",
		Short: "Show the log of a phase",
		Long: `Show the log of the current run of a phase, else of its last one. Without PHASE, of the phase that failed, works or ended last. With -f
the command follows the log until the run ends.`,
		Example: "  yuba bootstrap logs\n  yuba bootstrap logs acme eu-1/machines -f\n  yuba bootstrap logs acme machines -o json",
		Args:    ui.Arguments(0, 2), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow the log until the run ends")
	out := ui.AddOutputFlag(cmd, "json")
	cmd.RunE = g.connected(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := g.platform(cmd.Context(), cmd, s, args)
		if err != nil {
			return err
		}
		one := current(p)
		if len(args) > 1 {
			if one, err = phase(p, args[1]); err != nil {
				return err
			}
		}
		if one == nil || one.Run == "" {
			return ui.Exitf(ui.ExitNotFound, "no phase of %s has run yet", p.Name)
		}
		g.News("%s, run %s:", one.Name, one.Run)
		return g.log(cmd.Context(), s, p, one, o, out)
	})
	return cmd
}

func (g *group) log(ctx context.Context, s *session.Session, p *yubav1.Platform, one *yubav1.PlatformPhaseStatus, o content.LogOptions, out *ui.Output) error {
	o.Run = one.Run
	log := &session.LogReader{Session: s, Stack: types.NamespacedName{Namespace: p.Namespace, Name: one.Stack}, Options: o, Line: func(line []byte) error {
		if out.Machine() {
			_, err := s.Out.Write(line)
			return err
		}
		if text := plan.RenderLine(line, s.Colors(s.Out)); text != "" {
			_, err := fmt.Fprintln(s.Out, text)
			return err
		}
		return nil
	}}
	err := log.Run(ctx)
	if apierrors.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "%w", err)
	}
	return err
}

// checked is the answer of validate, for programs.
type checked struct {
	Valid    bool                   `json:"valid"`
	Problems []platformplan.Problem `json:"problems"`
	// Steps are the stacks that the blueprint makes, in their order.
	Steps []string `json:"steps"`
}

func (g *group) newValidateCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "validate --from FILE",
		Short: "Check a blueprint, and list the stacks that it makes",
		Long: `Check a blueprint as a whole: its schema, its rules, and whether phases, components and regions fit together. The command needs no server
and asks no provider. It lists all problems, and for a valid blueprint the stacks in the order in which they are made.`,
		Example: "  yuba bootstrap validate --from platform.yaml\n  yuba bootstrap validate --from platform.yaml -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().StringVarP(&from, "from", "f", "", "the file with the blueprint (\"-\" for stdin)")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" {
			return ui.UsageErrorf(cmd, "name a blueprint with --from FILE")
		}
		text, err := g.ReadFile(from, blueprint.MaxSize)
		if err != nil {
			return fmt.Errorf("read the blueprint: %w", err)
		}
		b, problems, err := blueprint.Read(text)
		if err != nil {
			return ui.Exitf(ui.ExitFailure, "%s: %w", from, err)
		}
		answer := checked{Valid: len(problems) == 0, Problems: append([]platformplan.Problem{}, problems...), Steps: []string{}}
		if b != nil {
			b.Platform.Name = b.Object.GetName()
			for _, step := range platformplan.Steps(b.Platform, platformplan.Given{}) {
				answer.Steps = append(answer.Steps, step.ID)
			}
		}
		return g.showChecked(from, answer, out)
	}
	return cmd
}

func (g *group) showChecked(file string, answer checked, out *ui.Output) error {
	if out.Machine() {
		if err := out.Print(g.Out, answer); err != nil {
			return err
		}
		if !answer.Valid {
			return ui.WithCode(ui.ExitFailure, errors.New(""))
		}
		return nil
	}
	if !answer.Valid {
		return ui.Exitf(ui.ExitFailure, "%s cannot be made:\n%s", file, listOf(answer.Problems))
	}
	for _, step := range answer.Steps {
		fmt.Fprintln(g.Out, step) //nolint:errcheck // the reader is gone
	}
	g.News("%s is valid; it makes %d stacks.", file, len(answer.Steps))
	return nil
}

func (g *group) newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of a blueprint",
		Long:    "Print the JSON schema of a blueprint, for editors and forms.",
		Example: "  yuba bootstrap schema > platform.schema.json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
		RunE: func(*cobra.Command, []string) error {
			text, err := blueprint.Schema()
			if err != nil {
				return err
			}
			_, err = g.Out.Write(text)
			return err
		},
	}
}
