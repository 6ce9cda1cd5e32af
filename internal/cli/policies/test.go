// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/policy/suite"
)

// testers run the tests of one kind at and below paths. Each ignores files of the others.
var testers = []func(ctx context.Context, paths []string, now time.Time) ([]suite.Result, error){runSuites}

// runSuites runs the documents of the kind PolicyTest, with an engine for rules in Rego that starts no
// process unless there are any.
func runSuites(ctx context.Context, paths []string, now time.Time) ([]suite.Result, error) {
	engine := rego.NewEngine(app.Beside)
	defer engine.Close()
	return suite.Run(ctx, engine, paths, now)
}

// tested is the answer of the command for programs.
type tested struct {
	Passed int            `json:"passed"`
	Failed int            `json:"failed"`
	Items  []suite.Result `json:"items"`
}

func newTestCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test [FILE|DIR]...",
		Short: "Test policies with stored plans and expected decisions",
		Long: `Test policies in files: each Policy and ClusterPolicy is checked, and each document of the kind PolicyTest is run. It names plans, as
"tofu show -json PLAN" writes them, and the decisions that the policies beside it should make. Without arguments, the command tests the current directory with
all directories below. It needs no server.

In a directory with rules in Rego (*.rego), the command also runs their tests: the rules whose names begin with test_, as "conftest verify" does. Rules
without tests are only compiled.

    apiVersion: policy.yuba.dev/v1
    kind: PolicyTest
    policies: [safe.yaml]            # by default all in the directory
    sources: {GitRepository/platform/rules: rego}   # directories with the rules in Rego that policies read from sources
    tests:
    - name: a database is not destroyed
      plan: plans/destroy.json       # tofu show -json PLAN
      lockFile: plans/lock.hcl       # optional, as are modules, stack, namespaceLabels, run, stage and at
      stack: {namespace: team-a, name: db, labels: {env: prod}}
      expect:
        decision: Held               # Freed, Passed, Held or Refused
        findings:                    # optional: exactly these; * stands for any text in an address
        - {rule: no-destroy, address: "aws_db_instance.*"}

Exit codes: 0 if all tests pass, 1 if one fails, 3 if there is nothing to test.`,
		Example: "  yuba policy test\n  yuba policy test ./policies -v\n  yuba policy test ./policies -o json",
		Args:    ui.Arguments(0, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	verbose := cmd.Flags().BoolP("verbose", "v", false, "also show what each passed test decided")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		answer := tested{Items: []suite.Result{}}
		for _, run := range testers {
			results, err := run(cmd.Context(), args, time.Now())
			if err != nil {
				return err
			}
			answer.Items = append(answer.Items, results...)
		}
		for i := range answer.Items {
			if answer.Items[i].Passed() {
				answer.Passed++
			} else {
				answer.Failed++
			}
		}
		if len(answer.Items) == 0 {
			return ui.Exitf(ui.ExitNotFound, "test policies: there is no Policy, ClusterPolicy or PolicyTest in the YAML files there, and no *.rego. See an example:\n    yuba policy test --help")
		}
		if out.Machine() {
			if err := out.Print(a.Out, answer); err != nil {
				return err
			}
		} else {
			showTested(a.Console, &answer, *verbose)
		}
		if answer.Failed > 0 {
			return ui.WithCode(ui.ExitFailure, errors.New(""))
		}
		return nil
	}
	return cmd
}

func showTested(c *ui.Console, t *tested, verbose bool) {
	file := ""
	for i := range t.Items {
		r := &t.Items[i]
		if r.File != file {
			file = r.File
			fmt.Fprintln(c.Out, file)
		}
		showResult(c, c.Out, r, verbose)
	}
	c.News("%d passed, %d failed.", t.Passed, t.Failed)
}

func showResult(c *ui.Console, w io.Writer, r *suite.Result, verbose bool) {
	word := c.Paint(c.Out, ui.ColorGreen, "ok    ")
	if !r.Passed() {
		word = c.Paint(c.Out, ui.ColorRed, "FAILED")
	}
	fmt.Fprintf(w, "  %s %s\n", word, ui.OneLine(r.Name))
	for _, problem := range r.Problems {
		fmt.Fprintln(w, "         "+ui.OneLine(problem))
	}
	if verbose && r.Decision != "" {
		fmt.Fprintf(w, "         decided: %s\n", r.Decision)
		for _, f := range r.Findings {
			fmt.Fprintln(w, "         "+ui.OneLine(fmt.Sprintf("%s (%s): %s", nonEmpty(" ", f.Policy, f.Rule), f.Effect, nonEmpty(": ", f.Address, f.Message))))
		}
	}
}
