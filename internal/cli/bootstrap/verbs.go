// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// platform finds the platform that an argument names, or the only one.
func (g *group) platform(ctx context.Context, cmd *cobra.Command, s *session.Session, args []string) (*yubav1.Platform, error) {
	if len(args) > 0 {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return nil, err
		}
		p := &yubav1.Platform{}
		return p, s.GetAs(ctx, session.Platforms, key, p)
	}
	all, err := platforms(ctx, s, s.Namespace)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, ui.Exitf(ui.ExitNotFound, "there is no platform in the namespace %s. Make one:\n    yuba bootstrap --from FILE", s.Namespace)
	case len(all) > 1:
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return nil, ui.UsageErrorf(cmd, "there are several platforms, so name one: %s", strings.Join(names, ", "))
	}
	return &all[0], nil
}

// phase finds a phase of a platform by REGION/PHASE, or by its last part if only one region has it.
func phase(p *yubav1.Platform, name string) (*yubav1.PlatformPhaseStatus, error) {
	var found []*yubav1.PlatformPhaseStatus
	var names []string
	for i := range p.Status.Phases {
		one := &p.Status.Phases[i]
		names = append(names, one.Name)
		if one.Name == name {
			return one, nil
		}
		if _, last, _ := strings.Cut(one.Name, "/"); last == name {
			found = append(found, one)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, ui.Exitf(ui.ExitNotFound, "the platform %s has no phase %q, or several regions have it. Its phases are %s", p.Name, name, strings.Join(names, ", "))
}

// current is the phase that people look at first: one that failed, waits for approval or works, else the last.
func current(p *yubav1.Platform) *yubav1.PlatformPhaseStatus {
	for _, state := range []yubav1.PlatformPhaseState{yubav1.PhaseFailed, yubav1.PhaseApplying, yubav1.PhasePlanning, yubav1.PhaseAwaitingApproval} {
		for i := range p.Status.Phases {
			if p.Status.Phases[i].State == state {
				return &p.Status.Phases[i]
			}
		}
	}
	for i := len(p.Status.Phases) - 1; i >= 0; i-- {
		if p.Status.Phases[i].Run != "" {
			return &p.Status.Phases[i]
		}
	}
	return nil
}

func (g *group) newRetryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "retry NAME [PHASE]",
		Short:   "Try a phase again now",
		Long:    "Try a phase again now, without waiting for its next attempt. Without PHASE, all phases that have failed.",
		Example: "  yuba bootstrap retry acme\n  yuba bootstrap retry acme eu-1/machines",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	cmd.RunE = g.connected(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := g.platform(cmd.Context(), cmd, s, args)
		if err != nil {
			return err
		}
		var again []*yubav1.PlatformPhaseStatus
		if len(args) > 1 {
			one, err := phase(p, args[1])
			if err != nil {
				return err
			}
			again = append(again, one)
		}
		for i := range p.Status.Phases {
			if len(args) == 1 && p.Status.Phases[i].State == yubav1.PhaseFailed {
				again = append(again, &p.Status.Phases[i])
			}
		}
		if len(again) == 0 {
			g.News("No phase of %s has failed.", p.Name)
			return nil
		}
		for _, one := range again {
			if _, err := s.Patch(cmd.Context(), "retry", types.NamespacedName{Namespace: p.Namespace, Name: one.Stack}, verbs.Replan(verbs.NewRequest(now()))); err != nil {
				return err
			}
			g.News("%s is tried again. Follow it:\n    yuba bootstrap logs %s %s -f", one.Name, p.Name, one.Name)
		}
		return nil
	})
	return cmd
}

func (g *group) newResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Go on with a platform, and show its phases until all are ready",
		Long: `Go on with a platform after Ctrl-C, a crash, a failure or "yuba bootstrap abort": start the server on its directory if none runs, try
failed phases again, and show the phases until all are ready. The blueprint is in the directory; no file is needed.`,
		Example: "  yuba bootstrap resume --home ./acme\n  yuba bootstrap resume acme -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	var f followFlags
	f.add(cmd)
	h := g.AddHome(cmd)
	out := ui.AddOutputFlag(cmd, "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		g.enter()
		return g.with(cmd, h, func(ctx context.Context, s *session.Session, r *running) error {
			p, err := g.platform(ctx, cmd, s, args)
			if err != nil {
				return err
			}
			r.mark(p.Spec.Domain.FQDN)
			key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
			if p.Spec.Suspend {
				if _, err := s.PatchObject(ctx, "resume", session.Platforms, key, verbs.Suspend(false)); err != nil {
					return err
				}
			}
			for _, one := range p.Status.Phases {
				if one.State != yubav1.PhaseFailed {
					continue
				}
				if _, err := s.Patch(ctx, "resume", types.NamespacedName{Namespace: p.Namespace, Name: one.Stack}, verbs.Replan(verbs.NewRequest(now()))); err != nil {
					return err
				}
			}
			return g.follow(ctx, s, r, key, f, out)
		})
	}
	return cmd
}

func (g *group) newAbortCommand() *cobra.Command {
	var cancel bool
	cmd := &cobra.Command{
		Use:   "abort NAME",
		Short: "Stop the work on a platform; what exists stays",
		Long: `Stop the work on a platform: plans are cancelled, an apply that has begun finishes, and nothing else begins. With --cancel, tofu is
interrupted in the middle of an apply, stores the state and ends. Everything that was made stays; "yuba bootstrap resume" goes on, and
"yuba bootstrap decommission" removes it.`,
		Example: "  yuba bootstrap abort acme\n  yuba bootstrap abort acme --cancel",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	cmd.Flags().BoolVar(&cancel, "cancel", false, "also interrupt applies that have begun")
	cmd.RunE = g.connected(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := g.platform(cmd.Context(), cmd, s, args)
		if err != nil {
			return err
		}
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		if _, err := s.PatchObject(cmd.Context(), "abort", session.Platforms, key, verbs.Suspend(true)); err != nil {
			return err
		}
		for _, one := range p.Status.Phases {
			if !cancel || one.State != yubav1.PhaseApplying {
				continue
			}
			if _, err := s.Content.Cancel(cmd.Context(), p.Namespace, one.Stack, ""); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("cancel the run of %s: %w", one.Name, err)
			}
			g.News("The run of %s is being interrupted.", one.Name)
		}
		g.News("Work on %s stops. Go on with it, or remove it:\n    yuba bootstrap resume %s\n    yuba bootstrap decommission %s", p.Name, p.Name, p.Name)
		return nil
	})
	return cmd
}

func (g *group) newDecommissionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decommission NAME",
		Short: "Destroy a platform, in the reverse order",
		Long: `Destroy everything that the stacks of a platform manage, in the reverse order of its phases, and show what is left until nothing is.
What cannot be removed is listed, with the reason; Yuba tries it again. The states and the logs stay in the directory.`,
		Example: "  yuba bootstrap decommission acme --home ./acme\n  yuba bootstrap decommission acme --yes -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.ObjectNames(session.Platforms, false),
	}
	var f followFlags
	f.add(cmd)
	h := g.AddHome(cmd)
	out := ui.AddOutputFlag(cmd, "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		g.enter()
		return g.with(cmd, h, func(ctx context.Context, s *session.Session, r *running) error {
			p, err := g.platform(ctx, cmd, s, args)
			if err != nil {
				return err
			}
			r.mark(p.Spec.Domain.FQDN)
			if err := g.MustConfirm(f.yes, fmt.Sprintf("Do you really want to destroy %s with all %d phases of %s? There is no undo.", p.Name, len(p.Status.Phases), p.Spec.Domain.FQDN)); err != nil {
				return err
			}
			key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
			change := session.Change{Spec: map[string]any{"decommission": true, "suspend": false}, Metadata: map[string]any{"annotations": map[string]any{infrav1.AnnotationReconcile: verbs.NewRequest(now())}}}
			if _, err := s.PatchObject(ctx, "decommission", session.Platforms, key, change); err != nil {
				return err
			}
			return g.follow(ctx, s, r, key, f, out)
		})
	}
	return cmd
}
