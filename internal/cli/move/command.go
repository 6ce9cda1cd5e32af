// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// options are the flags of "yuba move".
type options struct {
	from, to            string
	namespaces          []string
	all                 bool
	dryRun, yes, cancel bool
	wait                bool
	timeout             time.Duration
	out                 *ui.Output
}

const (
	defaultTimeout = 30 * time.Minute
	// passPatience is how long the first passes may take together, besides some time for each stack.
	passPatience = 2 * time.Minute
)

// NewCommand is "yuba move".
func NewCommand(a *session.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "move --from HOME --to HOME {-n NAMESPACE | -A}",
		Short: "Move stacks with their states and histories to another home",
		Long: `Move namespaces with everything that Yuba needs from one home to another: from "yuba up" to a cluster, from a cluster to
"yuba up", or from the cluster of a tofu-controller. Stacks, sources, Kustomizations, tenants, Secrets, ConfigMaps, service
accounts and roles move; so do states with their versions, the history of runs, and pending plans with their approvals. No
resource is created again: the first pass over each stack proves that it is unchanged, or plans.

HOME is a context of the kubeconfig. If there is no such context, it is a kubeconfig file (FILE, or FILE#CONTEXT), or the data
directory of "yuba up". You need the rights of an administrator at both homes.

The command first shows what it will do, and asks. Then it suspends and marks the objects at the source, waits until no run is
active, copies everything, compares both homes, and resumes at the target what was not suspended before. The objects at the
source stay there, suspended and marked, as the way back: move in the other direction to use them. Deleting them keeps all
resources.

If the command is interrupted, run it again: it continues. Until it has compared both homes, --cancel resumes everything at the
source instead.

It ends with code 5 if conflicts or locks prevent the move, if a stack needs attention afterwards, or if the result of its
first pass is not known in time.`,
		Example: "  yuba move --from yuba --to prod -n team-a --dry-run\n  yuba move --from yuba --to prod -n team-a -n team-b\n" +
			"  yuba move --from cluster.kubeconfig --to ~/.local/share/yuba -A --yes\n  yuba move --from prod --to yuba -n team-a    (and back)",
		Args: ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "the home to move from")
	flags.StringVar(&o.to, "to", "", "the home to move to")
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "a namespace to move; can be repeated")
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "move all namespaces with stacks, sources, Kustomizations or tenants, except flux-system")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be moved, and change nothing")
	flags.BoolVarP(&o.yes, "yes", "y", false, "move without a question")
	flags.BoolVar(&o.cancel, "cancel", false, "cancel an interrupted move, and resume everything at the source")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long to wait for active runs at the source; 0 means no limit")
	flags.BoolVar(&o.wait, "wait", true, "wait for the first pass of each stack at the target: 2 minutes, and 5 seconds for each stack")
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
	ui.CompleteFlag(cmd, "from", a.CompleteHomes)
	ui.CompleteFlag(cmd, "to", a.CompleteHomes)
	ui.CompleteFlag(cmd, "namespace", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.CompleteNamespaces(cmd, o.from)
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(cmd); err != nil {
			return err
		}
		return o.run(cmd.Context(), a)
	}
	return cmd
}

func (o *options) check(cmd *cobra.Command) error {
	switch {
	case o.from == "" || o.to == "":
		return ui.UsageErrorf(cmd, "name both homes: --from HOME --to HOME")
	case o.all == (len(o.namespaces) > 0):
		return ui.UsageErrorf(cmd, "name what to move: -n NAMESPACE, which can be repeated, or -A for all namespaces")
	case o.cancel && o.dryRun:
		return ui.UsageErrorf(cmd, "--cancel changes something; --dry-run does not go with it")
	}
	return nil
}

// run connects to both homes, and moves or cancels.
func (o *options) run(ctx context.Context, a *session.App) error {
	m, err := o.mover(ctx, a)
	if err != nil {
		return err
	}
	if len(m.Namespaces) == 0 {
		a.News("%s has no stacks, sources, Kustomizations or tenants.", m.From.Name)
		return nil
	}
	switch {
	case o.cancel:
		n, err := m.Cancel(ctx)
		if err != nil {
			return claimed(err)
		}
		a.News("Canceled. %d objects at %s are as they were before. The copies at %s stay there, suspended, and the next move uses them.", n, m.From.Name, m.To.Name)
		return nil
	case o.dryRun:
		report, err := m.Plan(ctx)
		if err != nil {
			return err
		}
		if err := o.show(a, report); err != nil {
			return err
		}
		if report.Refused() {
			return ui.Exitf(ui.ExitWaiting, "The move would be refused. Nothing was changed.")
		}
		a.News("Nothing was changed.")
		return nil
	}
	summary, err := m.Run(ctx)
	var refused *steps.RefusedError
	if errors.As(err, &refused) {
		return errors.Join(o.show(a, refused.Report), ui.WithCode(ui.ExitWaiting, err))
	}
	if err != nil {
		return interrupted(claimed(err))
	}
	return o.conclude(a, summary)
}

// claimed gives the code for waiting to the error that another process works on a namespace.
func claimed(err error) error {
	var c *steps.ClaimedError
	if errors.As(err, &c) {
		return ui.WithCode(ui.ExitWaiting, err)
	}
	return err
}

// interrupted adds to an error how to continue.
func interrupted(err error) error {
	var coded *ui.CodedError
	if errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return ui.Exitf(ui.ExitInterrupted, "interrupted. Nothing is lost. To continue, run the same command again")
	}
	return fmt.Errorf("%w.\nNothing is lost. To continue, run the same command again", err)
}

func (o *options) mover(ctx context.Context, a *session.App) (*steps.Mover, error) {
	from, err := connect(ctx, a, o.from)
	if err != nil {
		return nil, err
	}
	to, err := connect(ctx, a, o.to)
	if err != nil {
		return nil, err
	}
	m := &steps.Mover{From: from, To: to, Namespaces: o.namespaces, Quiet: o.timeout, News: a.News}
	if o.wait {
		m.Settle = passPatience
	}
	m.Confirm = func(report steps.Report) error {
		if o.yes {
			return nil
		}
		printReport(a, report)
		return a.MustConfirm(false, question(report))
	}
	if o.all {
		var found []string
		found, err = from.Namespaces(ctx)
		m.Namespaces = withoutFlux(found, a.News)
	}
	return m, err
}

// fluxNamespace is where Flux runs, with the root Kustomization of its own cluster.
const fluxNamespace = "flux-system"

// withoutFlux leaves out the namespace of Flux itself: what it applies belongs to its cluster.
func withoutFlux(found []string, news func(string, ...any)) []string {
	i := slices.Index(found, fluxNamespace)
	if i < 0 {
		return found
	}
	news("-A leaves out namespace %[1]s, which belongs to Flux. To move it, too, name it: -n %[1]s", fluxNamespace)
	return slices.Delete(slices.Clone(found), i, i+1)
}

func connect(ctx context.Context, a *session.App, name string) (*steps.Side, error) {
	s, err := a.ConnectTo(name)
	if err != nil {
		return nil, err
	}
	return steps.Connect(ctx, name, s.Config)
}

func question(report steps.Report) string {
	if report.Step == decide.StepResume {
		return fmt.Sprintf("Everything has arrived at %s. Resume it there?", report.To.Name)
	}
	return fmt.Sprintf("Suspend these objects at %s, and move them to %s?", report.From.Name, report.To.Name)
}

func (o *options) show(a *session.App, report steps.Report) error {
	if o.out.Machine() {
		return o.out.Print(a.Out, report)
	}
	printReport(a, report)
	return nil
}

func (o *options) conclude(a *session.App, summary steps.Summary) error {
	if o.out.Machine() {
		if err := o.out.Print(a.Out, summary); err != nil {
			return err
		}
	} else {
		printSummary(a, summary)
	}
	if summary.Attention() {
		return ui.Exitf(ui.ExitWaiting, "Stacks marked ! need attention. Everything was moved.")
	}
	if n := summary.Open(); n > 0 {
		return ui.Exitf(ui.ExitWaiting, "Everything was moved, but the first pass of %s has not ended yet. Check with:\n    yuba list -A", ui.Count(n, "stack"))
	}
	return nil
}
