// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/state/adopt"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// NewAdoptCommand is "yuba adopt".
func NewAdoptCommand(a *session.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Report what happens when Yuba replaces tofu-controller",
		Long: `Report, for each stack of an API that tofu-controller works on, what happens when Yuba replaces it: where the state is
and whether Yuba can read it, who holds its lock, what becomes of a pending plan, which fields have no effect, and what needs
action first.

The command changes nothing, with or without --dry-run: there is nothing to convert. Yuba works with the same objects,
states and locks from the moment "yuba controller" starts. It finds the kubeconfig as that command does: --kubeconfig,
$KUBECONFIG, ~/.kube/config, and never that of "yuba up".

It ends with code 5 when something needs action before a stack can continue.`,
		Example: "  yuba adopt --dry-run -A\n  yuba adopt --dry-run -n team-a -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "report on the stacks of all namespaces")
	cmd.Flags().Bool("dry-run", true, "change nothing; the command never changes anything")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		report, err := adoption(cmd.Context(), a, all)
		if err != nil {
			return err
		}
		return showAdoption(a, report, out)
	}
	return cmd
}

// adoption makes the report, with the kubeconfig that the controllers would use.
func adoption(ctx context.Context, a *session.App, all bool) (adopt.Report, error) {
	config, namespace, err := a.ClusterConfig()
	if err != nil {
		return adopt.Report{}, err
	}
	if all {
		namespace = ""
	}
	c, err := client.New(config, client.Options{Scheme: adopt.Scheme()})
	if err != nil {
		return adopt.Report{}, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return adopt.Prepare(ctx, c, namespace, time.Now())
}

func showAdoption(a *session.App, report adopt.Report, out *ui.Output) error {
	stacks, api := report.Attention()
	switch {
	case out.Form == "name":
		for _, s := range report.Stacks {
			if s.Attention {
				fmt.Fprintf(a.Out, "%s/%s\n", s.Namespace, s.Name)
			}
		}
	case out.Machine():
		if err := out.Print(a.Out, report); err != nil {
			return err
		}
	default:
		printAdoption(a, report)
	}
	rest := len(report.Stacks) - stacks
	a.News("%d stacks: %d continue as they are, %d need action.", len(report.Stacks), rest, stacks)
	if stacks > 0 || api {
		return ui.Exitf(ui.ExitWaiting, "Items marked ! need action. Nothing was changed.")
	}
	a.News("Nothing has to be converted, and nothing was changed. Start Yuba:\n    yuba controller --kubeconfig FILE")
	return nil
}

const subjectWidth = 12

func printAdoption(a *session.App, report adopt.Report) {
	if len(report.API) > 0 {
		fmt.Fprintln(a.Out, a.Paint(a.Out, ui.ColorBold, "The API"))
		printFindings(a, report.API)
	}
	for _, s := range report.Stacks {
		fmt.Fprintln(a.Out, a.Paint(a.Out, ui.ColorBold, s.Namespace+"/"+s.Name))
		printFindings(a, s.Findings)
	}
}

func printFindings(a *session.App, findings []adopt.Finding) {
	for _, f := range findings {
		mark := "  "
		if f.Level == adopt.Attention {
			mark = a.Paint(a.Out, ui.ColorRed, "! ")
		}
		fmt.Fprintf(a.Out, "%s%-*s%s\n", mark, subjectWidth, f.Subject, diagnostic.Printable(f.Message))
		if f.Command != "" {
			fmt.Fprintf(a.Out, "      %s\n", diagnostic.Printable(f.Command))
		}
	}
	fmt.Fprintln(a.Out)
}
