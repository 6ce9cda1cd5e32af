// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// options are the flags that the commands share.
type options struct {
	dir, stack, target string
	parallel           int
	impact             bool
	// commit is planned in place of the working tree, compared with base; both may be empty.
	commit, base string
	// pushed is the branch that is pushed to, in place of the current one.
	pushed string
	out    *ui.Output
}

// NewCommand is "yuba preview".
func NewCommand(a *session.App) *cobra.Command {
	var o options
	var detailed, prePush bool
	cmd := &cobra.Command{
		Use: "preview [DIR]", SuggestFor: []string{"speculate", "dry-run"},
		Short: "Plan what is not pushed yet: a directory, or all stacks that a working tree changes",
		Long: `Plan a local directory with the inputs, the credentials and the state that a stack has, or plan all stacks that the changes in
a git repository reach. Nothing is applied, and no such plan can be: it takes no lock, changes no status, and is forgotten.

With --stack, the directory DIR (default ".") stands in for the stack's source. It is the root of the source, or the directory
of the stack's root module in it (spec.path). Yuba prints what tofu says while it plans, and then the plan.

Without --stack, DIR is in a git repository. Yuba finds the GitRepositories with the address of one of its remotes that follow
the target branch, compares the working tree, with its new files, with the revision that they have, and plans the stacks that
can read a file that differs: modules, templates and files of values count, wherever they are. The target branch is
--target, else the current branch if a GitRepository follows it, else the default branch of the remote. Objects that a
Kustomization makes of the repository are not built: the command names the Kustomizations whose files differ.

With --impact, the command also lists the stacks that read outputs which the plans change, directly or through others.

With --detailed-exitcode the exit code is that of "tofu plan -detailed-exitcode": 0 without changes, 1 after an error, 2 with changes. Else it is 4
if a plan failed, 6 if policies refuse one, 5 if a stack cannot be planned before others are applied, else 0. Ctrl-C
cancels the plans that have not ended.

--pre-push is for git's hook of that name: it reads what git pushes, and plans the pushed commit. The command requires the
right to create the resource "terraforms/preview" of the API group content.yuba.dev in the namespaces of the stacks; the role "edit" has it.`,
		Example: `  yuba preview ./network --stack team-a/network
  yuba preview --stack network --detailed-exitcode
  yuba preview
  yuba preview --target production --impact
  yuba preview -o json
  echo 'exec yuba preview --pre-push' > .git/hooks/pre-push`,
		Args: ui.Arguments(0, 1), ValidArgsFunction: ui.Directories,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.stack, "stack", "", "plan this stack with the directory in place of its source")
	ui.CompleteFlag(cmd, "stack", a.StackNames(false))
	flags.BoolVar(&detailed, "detailed-exitcode", false, "end with 0 without changes, 1 after an error, 2 with changes")
	flags.BoolVar(&prePush, "pre-push", false, "plan the commit that git's hook pre-push is called for")
	addSurveyFlags(cmd, &o)
	cmd.MarkFlagsMutuallyExclusive("stack", "target")
	cmd.MarkFlagsMutuallyExclusive("stack", "impact")
	cmd.MarkFlagsMutuallyExclusive("stack", "pre-push")
	o.out = ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		o.dir = "."
		if len(args) == 1 {
			o.dir = args[0]
		}
		if o.parallel < 1 {
			return ui.UsageErrorf(cmd, "--parallel must be at least 1")
		}
		var w worst
		var err error
		switch {
		case o.stack != "":
			w, err = o.one(cmd, s)
		case prePush:
			w, err = o.push(cmd.Context(), s)
		default:
			w, err = o.survey(cmd.Context(), s)
		}
		return exit(cmd.Context(), w, err, detailed)
	})
	return cmd
}

func addSurveyFlags(cmd *cobra.Command, o *options) {
	flags := cmd.Flags()
	flags.StringVar(&o.target, "target", "", "the branch that the change will be merged to")
	ui.CompleteFlag(cmd, "target", cobra.NoFileCompletions)
	flags.BoolVar(&o.impact, "impact", false, "list the stacks that read what the plans change")
	flags.IntVar(&o.parallel, "parallel", trials.Parallel, "request this many plans at a time")
}

// worst is the worst that plans have come to.
type worst struct{ failed, refused, unknown, changed int }

// codeDetailed are the exit codes of "tofu plan -detailed-exitcode".
const (
	detailedError   = 1
	detailedChanges = 2
)

// exit is the error that a command ends with.
func exit(ctx context.Context, w worst, err error, detailed bool) error {
	switch {
	case err == nil:
		err = w.problem()
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = ui.Exitf(ui.ExitInterrupted, "interrupted")
	}
	if !detailed {
		return err
	}
	var coded *ui.CodedError
	switch {
	case errors.As(err, &coded) && coded.Code == ui.ExitInterrupted:
		return err
	case err != nil:
		return ui.WithCode(detailedError, err)
	case w.changed > 0:
		return ui.WithCode(detailedChanges, errors.New(""))
	}
	return nil
}

// problem is the worst as an error; nil if nothing is wrong.
func (w worst) problem() error {
	switch {
	case w.failed > 0:
		return ui.Exitf(ui.ExitRunFailed, "%s failed", ui.Count(w.failed, "plan"))
	case w.refused > 0:
		return ui.Exitf(ui.ExitRefused, "policies refuse %s", ui.Count(w.refused, "plan"))
	case w.unknown > 0:
		return ui.Exitf(ui.ExitWaiting, "%s cannot be planned before others are applied", ui.Count(w.unknown, "stack"))
	}
	return nil
}
