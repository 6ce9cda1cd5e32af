// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/preview/worktree"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/dial"
)

// ciOptions are the flags of "yuba ci".
type ciOptions struct {
	options
	head, forge, repository, tokenFile string
	number                             int
	environment, codeQuality, summary  string
	noComment, held                    bool
	printed                            string
}

// NewCICommand is "yuba ci".
func NewCICommand(a *session.App) *cobra.Command {
	var o ciOptions
	var detailed bool
	cmd := &cobra.Command{
		Use: "ci [DIR]", SuggestFor: []string{"pipeline", "actions"},
		Short: "Plan the stacks that a pull request changes, in a CI job: annotate, comment, fail by policy",
		Long: `Plan all stacks that the commits of a pull request change, as "yuba preview" does, for a job of GitHub Actions, GitLab CI,
Gitea Actions or Forgejo Actions. The job's variables say what to compare: the commit that is checked out, with the place
where it left the target branch. --base, --head and --target replace them, also elsewhere. The clone needs the history back to there;
without it the command compares with the revision that the stacks have.

The command prints a table, and then
- annotations of errors, warnings and findings of policies at lines of files: as workflow commands in Actions, and as a code
  quality report of GitLab with --code-quality;
- a summary of the job, in $GITHUB_STEP_SUMMARY or the file of --summary;
- one comment at the pull request, which later jobs edit in place, if there is a token that may comment: $YUBA_FORGE_TOKEN or
  --forge-token-file, else $GITHUB_TOKEN, $GITEA_TOKEN or $GITLAB_TOKEN. A comment that cannot be written is a warning. --environment
  tells the comments of several servers apart.

The plans are speculative: nothing is applied or locked, and nothing that is printed has sensitive values. The job's account
requires the right to create the resource "terraforms/preview" of the API group content.yuba.dev, and to list stacks, GitRepositories and
Kustomizations.

The exit code is 4 if a plan failed, 6 if policies refuse one, 5 if a stack cannot be planned before others are applied or, with
--fail-on-held, if policies require an approval, else 0. --print-workflow prints a job to start from.`,
		Example: `  yuba ci
  yuba ci --impact --environment production
  yuba ci --base origin/main --head HEAD --target main -o json
  yuba ci --code-quality yuba-code-quality.json
  yuba ci --print-workflow github > .github/workflows/yuba.yml`,
		Args: ui.Arguments(0, 1), ValidArgsFunction: ui.Directories,
	}
	addSurveyFlags(cmd, &o.options)
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "end with 0 without changes, 1 after an error, 2 with changes")
	o.out = ui.AddTableFlag(cmd, "json", "yaml")
	inSession := a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		w, err := o.run(cmd.Context(), s, os.Getenv)
		return exit(cmd.Context(), w, err, detailed)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.printed != "" {
			return o.print(cmd, a)
		}
		if o.parallel < 1 {
			return ui.UsageErrorf(cmd, "--parallel must be at least 1")
		}
		o.dir = "."
		if len(args) == 1 {
			o.dir = args[0]
		}
		return inSession(cmd, args)
	}
	return cmd
}

var forgeKinds = []string{string(forge.GitHub), string(forge.GitLab), string(forge.Gitea), string(forge.Bitbucket), string(forge.BitbucketServer), string(forge.AzureDevOps)}

func (o *ciOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.base, "base", "", "compare with the place where the head left this commit or branch")
	flags.StringVar(&o.head, "head", "HEAD", "the commit or branch to plan")
	flags.StringVar(&o.forge, "forge", "", "the kind of the forge: "+strings.Join(forgeKinds, ", "))
	flags.StringVar(&o.repository, "repository", "", "the address of the repository's page at the forge")
	flags.IntVar(&o.number, "pull-request", 0, "the number of the pull request to comment at")
	flags.StringVar(&o.tokenFile, "forge-token-file", "", "a file with a token that may comment (default $YUBA_FORGE_TOKEN)")
	flags.StringVar(&o.environment, "environment", "", "a name for the server, in the comment")
	flags.StringVar(&o.codeQuality, "code-quality", "", "write annotations to this file, as GitLab reads them")
	flags.StringVar(&o.summary, "summary", "", "add a summary in Markdown to this file (default $GITHUB_STEP_SUMMARY)")
	flags.BoolVar(&o.noComment, "no-comment", false, "do not comment at the pull request")
	flags.BoolVar(&o.held, "fail-on-held", false, "end with code 5 if policies require an approval")
	flags.StringVar(&o.printed, "print-workflow", "", "print a job to start from: "+strings.Join(workflowNames, ", "))
	for _, name := range []string{"base", "head", "repository", "pull-request", "environment"} {
		ui.CompleteFlag(cmd, name, cobra.NoFileCompletions)
	}
	ui.Complete(cmd, "forge", forgeKinds...)
	ui.Complete(cmd, "print-workflow", workflowNames...)
}

func (o *ciOptions) print(cmd *cobra.Command, a *session.App) error {
	if !slices.Contains(workflowNames, o.printed) {
		return ui.UsageErrorf(cmd, "--print-workflow %s: want %s", o.printed, strings.Join(workflowNames, " or "))
	}
	text, err := workflow(o.printed)
	if err == nil {
		_, err = a.Out.Write(text)
	}
	return err
}

// run surveys the range of commits, and tells everybody.
func (o *ciOptions) run(ctx context.Context, s *session.Session, get func(string) string) (worst, error) {
	e, err := o.environmentOf(get)
	if err != nil {
		return worst{}, err
	}
	if err := o.resolve(ctx, s, e); err != nil {
		return worst{}, err
	}
	v, failed := o.look(ctx, s, true)
	if failed != nil && (v == nil || len(v.Stacks) == 0) {
		return worst{}, failed
	}
	err = errors.Join(failed, o.tell(ctx, s, e, v))
	w := v.worst()
	if o.held && err == nil && w == (worst{changed: w.changed}) {
		for i := range v.Stacks {
			if p := v.Stacks[i].Policy; p != nil && p.Decision == decisionHeld {
				return w, ui.Exitf(ui.ExitWaiting, "policies require an approval of the plan of %s: %s", v.Stacks[i].Stack(), p.Message)
			}
		}
	}
	return w, err
}

// decisionHeld is the decision of policies that require an approval.
const decisionHeld = "Held"

// environmentOf is what the job's variables say, and the flags in place of them.
func (o *ciOptions) environmentOf(get func(string) string) (environment, error) {
	e := environmentOf(get)
	if o.forge != "" && forge.Kind(o.forge) != e.Kind {
		e.Kind, e.API, e.User = forge.Kind(o.forge), "", ""
	}
	if o.repository != "" && o.repository != e.Repository {
		e.Repository, e.API = o.repository, ""
	}
	e.Number, e.Base, e.Target = cmp.Or(o.number, e.Number), cmp.Or(o.base, e.Base), cmp.Or(o.target, e.Target)
	e.Summary = cmp.Or(o.summary, e.Summary)
	if o.tokenFile != "" {
		token, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return e, fmt.Errorf("read the token that may comment: %w", err)
		}
		e.Token, e.User = forge.Secret(strings.TrimSpace(string(token))), ""
	}
	return e, nil
}

// resolve finds the commits of the range.
func (o *ciOptions) resolve(ctx context.Context, s *session.Session, e environment) error {
	clone, err := worktree.Open(ctx, o.dir)
	if err != nil {
		return err
	}
	o.target = e.Target
	if o.commit, err = clone.Resolve(ctx, o.head); err != nil {
		return err
	}
	if o.base = ""; e.Base == "" {
		return nil
	}
	base, err := clone.Resolve(ctx, e.Base)
	if err == nil {
		base, err = clone.MergeBase(ctx, base, o.commit)
	}
	if err != nil {
		s.News("Warning: %s. Comparing with the revisions that the stacks have.", err)
		return nil
	}
	o.base = base
	return nil
}

// tell prints the survey, writes the files, and comments.
func (o *ciOptions) tell(ctx context.Context, s *session.Session, e environment, v *surveyView) error {
	notes := notesOf(v)
	actions := e.Kind == forge.GitHub || e.Kind == forge.Gitea
	r := reportOf(v, strings.TrimSuffix("yuba-ci:"+o.environment, ":"), o.environment, o.commit, e.Job)
	shown := func() error { return v.show(s, o.out) }
	if o.out.Machine() {
		shown = func() error { return o.out.Print(s.Out, v) }
	} else if actions {
		shown = func() error { return quoted(s, func() error { return v.show(s, o.out) }) }
	}
	err := shown()
	if actions && !o.out.Machine() {
		fmt.Fprint(s.Out, workflowCommands(notes))
	}
	if o.codeQuality != "" {
		err = errors.Join(err, writeJSON(o.codeQuality, codeQuality(notes)))
	}
	if e.Summary != "" {
		err = errors.Join(err, appendTo(e.Summary, comment.Render(r, comment.Style{Limit: maxSummary, Details: true, Hidden: true})))
	}
	if failed := o.comment(ctx, s, e, r); failed != nil {
		s.News("Warning: the pull request has no comment about these plans: %s", failed)
	}
	return err
}

// maxSummary is below GitHub's limit of a step's summary, 1 MiB.
const maxSummary = 1000 << 10

// quoted prints what people wrote without letting it start workflow commands.
func quoted(s *session.Session, show func() error) error {
	token := rand.Text()
	fmt.Fprintf(s.Out, "::stop-commands::%s\n", token)
	defer fmt.Fprintf(s.Out, "::%s::\n", token)
	return show()
}

// comment writes or edits the comment. Without a pull request or a token there is none.
func (o *ciOptions) comment(ctx context.Context, s *session.Session, e environment, r comment.Report) error {
	switch {
	case o.noComment || e.Number == 0 || ctx.Err() != nil:
		return nil
	case e.Token == "":
		s.News("No token may comment at pull request %d: set $%s.", e.Number, tokenVariable)
		return nil
	}
	f, err := dial.Open(forge.Config{Kind: e.Kind, Repository: e.Repository, API: e.API, Credentials: forge.Credentials{Token: e.Token, User: e.User}})
	if err != nil {
		return err
	}
	limits := f.Limits()
	text := comment.Render(r, comment.Style{Limit: limits.Comment, Details: limits.Details, Hidden: limits.Hidden})
	written, err := f.SetComment(ctx, e.Number, comment.Mark(r.Marker), text)
	if err == nil && written.URL != "" {
		s.News("Comment: %s", written.URL)
	}
	return err
}
