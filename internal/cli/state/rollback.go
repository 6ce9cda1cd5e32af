// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func newStateRollbackCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback NAME VERSION",
		Short: "Roll the state back to a stored version",
		Long: `Roll the state back to a stored version, which becomes a new version with a higher serial. The real infrastructure does not
change: the next plan shows how it differs from the state. The command shows what the state would lose and gain, and asks.`,
		Example: "  yuba state history vpc\n  yuba state rollback vpc 01767225600000000000-4",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateVersions, false),
	}
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		return rollback(ctx, s, key, rest[0], flags)
	})
	return cmd
}

func rollback(ctx context.Context, s *session.Session, key types.NamespacedName, version string, flags *changeFlags) error {
	if err := previewRollback(ctx, s, key, version, previews(s, flags.out)); err != nil {
		return err
	}
	if flags.dryRun {
		if flags.out.Machine() {
			return flags.out.Print(s.Out, changed{Verb: run.StateRollback, Args: []string{version}, DryRun: true, Text: "see standard error"})
		}
		return nil
	}
	if err := s.MustConfirm(flags.yes, "The state of "+key.String()+" is rolled back to version "+version+"."); err != nil {
		return err
	}
	result, err := s.Content.Rollback(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return once("roll back the state of", key, err)
	}
	if flags.out.Machine() {
		return flags.out.Print(s.Out, result)
	}
	s.News("Rolled the state of %s back to version %s, as version %s (serial %d).", key, result.From.ID, result.To.ID, result.To.Serial)
	if result.SerialKept {
		s.News("It is encrypted, so its serial could not be raised: make a fresh plan before you apply anything.")
	}
	s.News("Compare the real infrastructure with it:\n    yuba replan %s --wait", s.Call(key))
	return nil
}

// previewRollback shows what the state would lose and gain. An unreadable current state does not
// prevent a rollback: it may be the reason for it.
func previewRollback(ctx context.Context, s *session.Session, key types.NamespacedName, version string, w io.Writer) error {
	target, err := s.Content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return once("roll back the state of", key, err)
	}
	current, err := s.Content.State(ctx, key.Namespace, key.Name, "")
	if err != nil {
		s.News("Cannot compare the current state: %v", err)
		return nil
	}
	if bytes.Equal(current, target) {
		return ui.Exitf(ui.ExitFailure, "version %s is already the state of %s", version, key)
	}
	compareStates(s, w, "Serial %d is rolled back to serial %d:\n", current, target)
	return nil
}

// compareStates lists the differences of two states below a heading. A nil state is empty.
func compareStates(s *session.Session, w io.Writer, heading string, current, target []byte) {
	from, errFrom := &statefile.File{}, error(nil)
	if current != nil {
		from, errFrom = statefile.Parse(current)
	}
	to, errTo := statefile.Parse(target)
	if errFrom != nil || errTo != nil || from.Encrypted || to.Encrypted {
		s.News("Cannot compare the states: they are encrypted or unreadable.")
		return
	}
	fmt.Fprintf(w, heading, from.Serial, to.Serial)
	compareResources(w, from, to)
}

func compareResources(w io.Writer, from, to *statefile.File) {
	had, gets := byAddress(from), byAddress(to)
	var lines []string
	for address, r := range had {
		switch other, stays := gets[address]; {
		case !stays:
			lines = append(lines, "  - "+address+identified(r)+" is forgotten; the resource stays")
		case !bytes.Equal(other.Attributes, r.Attributes) || other.Tainted != r.Tainted:
			lines = append(lines, "  ~ "+address)
		}
	}
	for address, r := range gets {
		if _, known := had[address]; !known {
			lines = append(lines, "  + "+address+identified(r)+" is tracked again, whether or not it still exists")
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

func byAddress(f *statefile.File) map[string]statefile.Resource {
	all := make(map[string]statefile.Resource, len(f.Resources))
	for _, r := range f.Resources {
		all[r.Address+r.Deposed] = r
	}
	return all
}

func identified(r statefile.Resource) string {
	if r.ID == "" {
		return ""
	}
	return " (" + r.ID + ")"
}

// once adds the action to an error of the server, except for not found, whose message is complete.
func once(action string, key types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "%w", err)
	}
	return fmt.Errorf("%s %s: %w", action, key, err)
}
