// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/adopt"
	"github.com/yuba-dev/yuba/internal/kit/version"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newAdoptCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Tell what happens when Yuba takes the place of tofu-controller",
		Long: `Tell, for each stack of an API on which tofu-controller works, what happens when Yuba takes its place: where its state
is and whether it can be read, who holds its lock, what becomes of a plan that waits, what has no effect, and what has to be
done before.

The command changes nothing, with --dry-run or without: there is nothing to convert. Yuba works with the same objects,
states and locks from the moment "yuba controller" starts. The kubeconfig is found as that command finds it: --kubeconfig,
$KUBECONFIG, ~/.kube/config, and never that of "yuba up".

It ends with code 5 when something has to be done before a stack can go on.`,
		Example: "  yuba adopt --dry-run -A\n  yuba adopt --dry-run -n team-a -o json",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "tell about the stacks of all namespaces")
	cmd.Flags().Bool("dry-run", true, "change nothing, which is all that the command does")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		report, err := a.adoption(cmd.Context(), all)
		if err != nil {
			return err
		}
		return a.showAdoption(report, out)
	}
	return cmd
}

// adoption reads the API. Like the controllers', its kubeconfig is not that of a data directory.
func (a *app) adoption(ctx context.Context, all bool) (adopt.Report, error) {
	loader := a.clusterLoader()
	config, err := loader.ClientConfig()
	if err != nil {
		return adopt.Report{}, a.explainCluster(err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return adopt.Report{}, err
	}
	if all {
		namespace = ""
	}
	config.QPS, config.UserAgent = -1, "yuba/"+version.String()
	c, err := client.New(config, client.Options{Scheme: adopt.Scheme()})
	if err != nil {
		return adopt.Report{}, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return adopt.Prepare(ctx, c, namespace, time.Now())
}

func (a *app) showAdoption(report adopt.Report, out *output) error {
	stacks, api := report.Attention()
	switch {
	case out.form == "name":
		for _, s := range report.Stacks {
			if s.Attention {
				fmt.Fprintf(a.out, "%s/%s\n", s.Namespace, s.Name)
			}
		}
	case out.machine():
		if err := out.print(a.out, report); err != nil {
			return err
		}
	default:
		a.printAdoption(report)
	}
	rest := len(report.Stacks) - stacks
	a.news("%d stacks: %d go on as they are, %d need a hand.", len(report.Stacks), rest, stacks)
	if stacks > 0 || api {
		return exitf(exitWaiting, "Items marked ! need action. Nothing was changed.")
	}
	a.news("Nothing has to be converted, and nothing was changed. Start Yuba:\n    yuba controller --kubeconfig FILE")
	return nil
}

const subjectWidth = 12

func (a *app) printAdoption(report adopt.Report) {
	if len(report.API) > 0 {
		fmt.Fprintln(a.out, a.paint(a.out, colorBold, "The API"))
		a.printFindings(report.API)
	}
	for _, s := range report.Stacks {
		fmt.Fprintln(a.out, a.paint(a.out, colorBold, s.Namespace+"/"+s.Name))
		a.printFindings(s.Findings)
	}
}

func (a *app) printFindings(findings []adopt.Finding) {
	for _, f := range findings {
		mark := "  "
		if f.Level == adopt.Attention {
			mark = a.paint(a.out, colorRed, "! ")
		}
		fmt.Fprintf(a.out, "%s%-*s%s\n", mark, subjectWidth, f.Subject, diagnostic.Printable(f.Message))
		if f.Command != "" {
			fmt.Fprintf(a.out, "      %s\n", diagnostic.Printable(f.Command))
		}
	}
	fmt.Fprintln(a.out)
}
