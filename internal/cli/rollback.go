// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newStateRollbackCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback NAME VERSION",
		Short: "Make a stored version the state again",
		Long: `Make a stored version the state again, as a new version with a higher serial. What is in the world does not change:
the next plan tells how it differs from the state. Shows first what the state would lose and gain, and asks.`,
		Example: "  yuba state history vpc\n  yuba state rollback vpc 01767225600000000000-4",
		Args:    arguments(2, 2), ValidArgsFunction: a.stackAnd(stateVersions, false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.onStack(flags.out, func(ctx context.Context, s *session, key types.NamespacedName, rest []string) error {
		return s.rollback(ctx, key, rest[0], flags)
	})
	return cmd
}

func (s *session) rollback(ctx context.Context, key types.NamespacedName, version string, flags *changeFlags) error {
	if err := s.previewRollback(ctx, key, version, s.previews(flags.out)); err != nil {
		return err
	}
	if flags.dryRun {
		if flags.out.machine() {
			return flags.out.print(s.out, changed{Verb: run.StateRollback, Args: []string{version}, DryRun: true, Text: "see standard error"})
		}
		return nil
	}
	if err := s.mustConfirm(flags.yes, "The state of "+key.String()+" goes back to version "+version+"."); err != nil {
		return err
	}
	result, err := s.content.Rollback(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return once("roll back the state of", key, err)
	}
	if flags.out.machine() {
		return flags.out.print(s.out, result)
	}
	s.news("The state of %s is that of version %s again, as version %s (serial %d).", key, result.From.ID, result.To.ID, result.To.Serial)
	if result.SerialKept {
		s.news("It is encrypted, so that its serial could not be raised: make a fresh plan before anything is applied.")
	}
	s.news("See how the world differs from it:\n    yuba replan %s --wait", s.call(key))
	return nil
}

// previewRollback tells what the state would lose and gain. A current state that cannot be read is no obstacle: it may
// be the reason to go back.
func (s *session) previewRollback(ctx context.Context, key types.NamespacedName, version string, w io.Writer) error {
	target, err := s.content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return once("roll back the state of", key, err)
	}
	current, err := s.content.State(ctx, key.Namespace, key.Name, "")
	if err != nil {
		s.news("The state as it is cannot be compared: %v", err)
		return nil
	}
	if bytes.Equal(current, target) {
		return exitf(exitError, "version %s is what the state of %s is now", version, key)
	}
	from, errFrom := state.Parse(current)
	to, errTo := state.Parse(target)
	if errors.Join(errFrom, errTo) != nil || from.Encrypted || to.Encrypted {
		s.news("The states are encrypted or cannot be read, so that they cannot be compared.")
		return nil
	}
	fmt.Fprintf(w, "Serial %d goes back to what it was at serial %d:\n", from.Serial, to.Serial)
	compareResources(w, from, to)
	return nil
}

// compareResources tells by address what differs.
func compareResources(w io.Writer, from, to *state.File) {
	had, gets := byAddress(from), byAddress(to)
	var lines []string
	for address, r := range had {
		switch other, stays := gets[address]; {
		case !stays:
			lines = append(lines, "  - "+address+identified(r)+" is forgotten; it stays in the world")
		case !bytes.Equal(other.Attributes, r.Attributes) || other.Tainted != r.Tainted:
			lines = append(lines, "  ~ "+address)
		}
	}
	for address, r := range gets {
		if _, known := had[address]; !known {
			lines = append(lines, "  + "+address+identified(r)+" is known again, whether or not it still is in the world")
		}
	}
	if len(lines) == 0 {
		lines = []string{"  the resources are the same"}
	}
	slices.SortFunc(lines, func(a, b string) int { return bytes.Compare([]byte(a[4:]), []byte(b[4:])) })
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

func byAddress(f *state.File) map[string]state.Resource {
	all := make(map[string]state.Resource, len(f.Resources))
	for _, r := range f.Resources {
		all[r.Address+r.Deposed] = r
	}
	return all
}

func identified(r state.Resource) string {
	if r.ID == "" {
		return ""
	}
	return " (" + r.ID + ")"
}
