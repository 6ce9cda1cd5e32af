// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
)

type acknowledgeOptions struct {
	// run is the last run whose list the user saw; empty for the current list.
	run string
	// yes acknowledges without a question.
	yes bool
}

// NewAcknowledgeCommand is "yuba acknowledge".
func NewAcknowledgeCommand(a *session.App) *cobra.Command {
	var o acknowledgeOptions
	cmd := &cobra.Command{
		Use:   "acknowledge NAME [ADDRESS...]",
		Short: "Acknowledge resources that an interrupted apply may have left behind",
		Long: `An apply that is cut off may have created or destroyed resources without any state proving it. "yuba status" lists
them. Check them first, and import or remove those that exist. Then acknowledge them to take them off the list.

The command acknowledges the addresses that you name, or all that are listed. For an address that is masked or cut, name
the digest that the list shows behind it. --run limits the command to the resources of that run and of earlier ones: use
the run that "yuba status" shows, and you acknowledge only what you saw. Without --run the command shows the list and asks;
without a terminal it needs --yes.

If a later apply is cut off, Yuba lists its resources again. The record of each run keeps its own list
("yuba runs NAME -o json").`,
		Example: "  yuba status vpc\n  yuba state import vpc aws_instance.web i-0abc123\n  yuba acknowledge vpc aws_instance.web\n" +
			"  yuba acknowledge vpc --run 20260102-150405.000-1a2b3c4d5e",
		Args: ui.Arguments(1, -1), ValidArgsFunction: a.StackAnd(unprovenAddresses, true),
	}
	cmd.Flags().StringVar(&o.run, "run", "", "acknowledge the resources of this run and of earlier ones, without a question")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "acknowledge what is listed now without a question")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	ui.CompleteFlag(cmd, "run", a.AboutStack(unprovenRuns))
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, addresses []string) error {
		return acknowledge(ctx, s, t, addresses, o, out)
	})
	return cmd
}

func acknowledge(ctx context.Context, s *session.Session, t *infrav1.Terraform, addresses []string, o acknowledgeOptions, out *ui.Output) error {
	key := session.KeyOf(t)
	seen, upTo, err := verbs.Acknowledgeable(t, o.run, addresses)
	if err != nil {
		return refused(s, "acknowledge", key, err)
	}
	s.News("Unproven resources of %s:\n  %s", key, diagnostic.Printable(strings.Join(unprovenLines(seen, s.Call(key)), "\n  ")))
	if err := s.MustConfirm(o.yes || o.run != "", "Did you check them, and should Yuba take them off the list?"); err != nil {
		return err
	}
	acknowledged, err := s.Patch(ctx, "acknowledge the unproven resources of", key, verbs.Acknowledge(t, upTo, addresses))
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		s.News("The unproven resources of %s are acknowledged.", key)
	} else {
		s.News("Acknowledged of %s: %s", key, strings.Join(addresses, ", "))
	}
	return s.PrintStack(acknowledged, out)
}

// unproven lists the unproven resources, and what to do about them.
func (v *statusView) unproven() {
	u := v.t.Status.Unproven
	if u == nil {
		return
	}
	total, importable, replaced := len(u.Resources), false, false
	for _, r := range u.Resources {
		over := run.Unproven{MayExist: r.MayExist, Replaces: r.Replaces, Many: r.Many}.OverAnother()
		replaced = replaced || over
		importable = importable || r.MayExist && !over
	}
	for _, r := range u.Runs {
		total += int(r.More)
		importable = importable || r.More > 0 || r.Note != ""
	}
	lines := unprovenLines(u, v.call)
	if total > 0 {
		lines = append([]string{run.UnprovenSentence(total) + ":"}, lines...)
	}
	lines = append(lines, run.UnprovenAdvice(importable, replaced)+". Then acknowledge them:")
	if importable {
		lines = append(lines, fmt.Sprintf("    yuba state import %s ADDRESS ID", v.call))
	}
	lines = append(lines, fmt.Sprintf("    yuba acknowledge %s --run %s [ADDRESS...]", v.call, u.Runs[len(u.Runs)-1].ID))
	fmt.Fprintf(v, "%s%s\n", v.paint(ui.ColorYellow, fmt.Sprintf("%-*s", ui.LabelWidth, "Unproven")), ui.Indented(strings.Join(lines, "\n")))
}

// unprovenLines has a line for each resource of a list, and for notes about its runs.
func unprovenLines(u *infrav1.UnprovenStatus, call string) []string {
	lines := make([]string, 0, len(u.Resources)+2)
	for _, r := range u.Resources {
		line := r.Address
		if r.Match != "" { // masked addresses may look the same
			line += " [" + r.Match + "]"
		}
		if r.Object != "" {
			line += " (" + r.Object + ")"
		}
		lines = append(lines, strings.ReplaceAll(line, "\n", " ")+": "+r.Doubt)
	}
	for _, r := range u.Runs {
		name := "run " + r.ID
		if r.OlderRuns > 0 {
			name += fmt.Sprintf(" and %d earlier ones", r.OlderRuns)
		}
		if r.More > 0 {
			lines = append(lines, fmt.Sprintf("and %d more of %s: yuba runs %s -o json", r.More, name, call))
		}
		if r.Note != "" {
			lines = append(lines, strings.ToUpper(name[:1])+name[1:]+": "+r.Note)
		}
	}
	return lines
}
