// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// options are the flags of a preview.
type options struct {
	// dirs are directories in place of stacks' sources, by stack. names are stacks by the directories of
	// tfmigrate's files.
	dirs, names map[string]string
	revision    string
	// expect is a file with expect blocks, for an undo.
	expect   string
	parallel int
	yes      bool
	// unplanned leaves the plans out.
	unplanned bool
	out       *ui.Output
}

// NewCommand is "yuba refactor".
func NewCommand(a *session.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "refactor FILE", SuggestFor: []string{"reshape", "split", "tfmigrate"},
		Short: "Move resources between the states of stacks",
		Long: `Preview a refactoring: move resources between the states of the stacks of a namespace, remove them from states, or replace
their provider. Nothing is changed; "yuba refactor apply" does it.

FILE has blocks such as:

    move {
      stack    = "monolith"
      from     = module.db
      to_stack = "db"
      to       = module.database
    }
    expect {
      stack   = "db"
      update  = [aws_kms_key.db]
      outputs = ["arn"]
    }

The others are remove (stack, from), replace_provider (stack, from, to) and import (stack, to, id). Without "to", an address stays the same, and "from" may be a list. tfmigrate's blocks migration "state" and "multi_state" are read,
too; their directories are those of stacks (spec.path), or of --stack DIR=NAME.

The command plans every stack of the file on its new state, and with the program that it has now, with --dir one of a local
directory, or with --revision another revision of its GitRepository. A plan must have no changes, or exactly those of an "expect"
block. New outputs need no mention.

Change the programs while the stacks are suspended: "yuba suspend", push the programs, preview, apply, "yuba resume".`,
		Example: "  yuba refactor split.hcl -n prod\n  yuba refactor split.hcl --dir monolith=./monolith --dir db=./db\n  yuba refactor apply split.hcl",
		Args:    ui.Arguments(1, 1),
	}
	addPreviewFlags(cmd, a, &o)
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := o.preview(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		if err := p.show(s, o.out); err != nil {
			return err
		}
		if err := p.problem(); err != nil {
			return err
		}
		s.News("\nEvery plan is as the file says. Nothing was changed. Apply it:\n    yuba refactor apply %s -n %s", args[0], s.Namespace)
		return nil
	})
	cmd.AddCommand(newApplyCommand(a), newUndoCommand(a), newListCommand(a), newShowCommand(a), newSuggestCommand(a))
	return cmd
}

func addPreviewFlags(cmd *cobra.Command, a *session.App, o *options) {
	flags := cmd.Flags()
	flags.StringToStringVar(&o.dirs, "dir", nil, "plan a stack with a local directory in place of its source: STACK=DIR")
	flags.StringToStringVar(&o.names, "stack", nil, "the stack of a directory in a file of tfmigrate: DIR=STACK")
	flags.StringVar(&o.revision, "revision", "", "plan all stacks with this revision of their GitRepository: a commit, a branch, or refs/…")
	flags.IntVar(&o.parallel, "parallel", trials.Parallel, "request this many plans at a time")
	for _, name := range []string{"stack", "revision", "parallel"} {
		ui.CompleteFlag(cmd, name, cobra.NoFileCompletions)
	}
	cmd.MarkFlagsMutuallyExclusive("dir", "revision")
	o.out = ui.AddTableFlag(cmd, "json", "yaml")
}

func newApplyCommand(a *session.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Preview a refactoring, and write the states",
		Long: `Preview a refactoring as "yuba refactor FILE" does, ask, and write all states as one recorded operation: either all of them
stand or none does. The server locks them, refuses if a state, a program or a plan has changed since the preview, and goes on after
a restart.`,
		Example: "  yuba refactor apply split.hcl\n  yuba refactor apply split.hcl --yes -o json",
		Args:    ui.Arguments(1, 1),
	}
	addPreviewFlags(cmd, a, &o)
	addApplyFlags(cmd, &o)
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := o.preview(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		return o.apply(cmd.Context(), s, p)
	})
	return cmd
}

func addApplyFlags(cmd *cobra.Command, o *options) {
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.unplanned, "without-preview", false, "make no plans, for instance because a provider is away; all stacks must be suspended: review their next plans before you resume them")
	for _, name := range []string{"dir", "revision", "expect"} {
		if cmd.Flags().Lookup(name) != nil {
			cmd.MarkFlagsMutuallyExclusive("without-preview", name)
		}
	}
}

func newUndoCommand(a *session.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Reverse a refactoring",
		Long: `Reverse a refactoring that was applied. If no state has changed since, each gets its former content; otherwise the moves are
taken back on the current states. Bring the former programs back first, while the stacks are suspended: the command plans all
stacks on the states that they get, and demands no changes. The undo is a refactoring of its own, and can be undone.`,
		Example: "  yuba refactor list\n  yuba refactor undo refactor-20260101-120000-1a2b3c4d",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ids(a, reshape.Applied),
	}
	addPreviewFlags(cmd, a, &o)
	cmd.Flags().StringVar(&o.expect, "expect", "", "a file with expect blocks: what the plans change on the way back, such as outputs that disappear")
	addApplyFlags(cmd, &o)
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		p, err := o.previewUndo(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		return o.apply(cmd.Context(), s, p)
	})
	return cmd
}

// ids completes the id of a refactoring in a phase, or in any.
func ids(a *session.App, phase reshape.Phase) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		s, err := a.Connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		list, err := s.Content.Refactorings(ctx, s.Namespace)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var found []cobra.Completion
		for _, r := range list.Items {
			if phase == "" || r.Phase == phase {
				found = append(found, cobra.CompletionWithDesc(r.ID, strings.Join(r.Stacks(), ", ")))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func newListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the refactorings of a namespace",
		Long:    "List the refactorings of a namespace, newest first, and how far each is.",
		Example: "  yuba refactor list -n prod\n  yuba refactor list -o json",
		Args:    ui.Arguments(0, 0),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		list, err := s.Content.Refactorings(cmd.Context(), s.Namespace)
		if err != nil {
			return fmt.Errorf("list the refactorings of %s: %w", s.Namespace, err)
		}
		l := listing.List{None: "No refactoring is stored in the namespace " + s.Namespace + ".", Rows: [][]string{{"ID", "PHASE", "AGE", "BY", "MOVED", "STACKS"}}, Answer: list.Items}
		for _, why := range list.Skipped {
			s.News("Warning: skipped a refactoring: %s", why)
		}
		for _, r := range list.Items {
			l.Add(r.ID, r.ID, phaseOf(r), ui.Age(time.Now(), r.Created), r.By, fmt.Sprint(r.MovedInstances), strings.Join(r.Stacks(), ", "))
		}
		return l.Show(s.Console, out)
	})
	return cmd
}

func phaseOf(r *reshape.Record) string {
	if r.UndoneBy != "" {
		return "undone"
	}
	return string(r.Phase)
}

func newShowCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a refactoring",
		Long:    "Show a refactoring: how far it is, which states it changes, and what moves.",
		Example: "  yuba refactor show refactor-20260101-120000-1a2b3c4d",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ids(a, ""),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		r, err := s.Content.Refactoring(cmd.Context(), s.Namespace, args[0])
		if err != nil {
			return explain("read the refactoring "+args[0], err)
		}
		if out.Machine() {
			return out.Print(s.Out, r)
		}
		return showRecord(s, &r, out)
	})
	return cmd
}

// explain adds what was attempted to an error of the server.
func explain(action string, err error) error {
	if ui.IsNotFound(err) {
		return err
	}
	return fmt.Errorf("%s: %w", action, err)
}

// keyIn is the name of a stack of the session's namespace.
func keyIn(s *session.Session, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: name}
}
