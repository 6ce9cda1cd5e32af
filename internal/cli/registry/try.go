// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// newTryCommand is "yuba registry try".
func newTryCommand(a *session.App) *cobra.Command {
	var sample, parallel int
	cmd := &cobra.Command{
		Use: "try MODULE@VERSION", SuggestFor: []string{"test", "candidate"},
		Short: "Plan the stacks that use a module with another version of it, without applying anything",
		Long: `Plan the stacks that use a module with another version of it, such as a release candidate, and show the differences, identical
ones together. Nothing is applied, locked or recorded: the plans are speculative, and no stack's own plan or status changes. They
run after all other runs.

Each stack is planned as it is configured now, with the version in place of the one that it has, whatever its constraint says,
also where other modules call it. Its other modules and its providers keep their versions. Changes that a stack would have
anyway, because of drift or of inputs that changed since its last apply, are among the differences.

` + fmt.Sprintf(scopeHelp, "usage") + `

Ctrl-C cancels the plans that have not ended, and shows the results so far. The command requires the right to create the
resource "terraforms/try" of the API group content.yuba.dev in the namespaces of the stacks; the role "edit" has it, because the
plans run the module's code with the stacks' credentials.`,
		Example: "  yuba registry try acme/vpc/aws@1.3.0-rc1\n  yuba registry try acme/vpc/aws@1.3.0-rc1 --sample 10\n  yuba registry try acme/vpc/aws@2.0.0 -n team-a -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: releaseNames(a),
	}
	within := addScope(cmd, a)
	cmd.Flags().IntVar(&sample, "sample", 0, "plan at most this many stacks, of as many versions and namespaces as possible; 0 for all")
	cmd.Flags().IntVar(&parallel, "parallel", trials.Parallel, "request this many plans at a time")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		module, version, _ := strings.Cut(args[0], "@")
		if q, err := usage.ParseQuery(module); err != nil || q.Kind != usage.Module {
			return ui.UsageErrorf(cmd, "%q is not a module. Expected NAMESPACE/NAME/SYSTEM@VERSION, such as acme/vpc/aws@1.3.0-rc1", args[0])
		}
		if _, err := layout.ParseVersion(version); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		if sample < 0 || parallel < 1 {
			return ui.UsageErrorf(cmd, "--sample must not be negative, and --parallel must be at least 1")
		}
		namespace, err := within.namespace(cmd)
		if err != nil {
			return err
		}
		// A pipeline must not take a misspelt name for a candidate that harms nobody.
		if own, err := layout.ParseModule(module); err == nil {
			if _, err := s.Content.ModuleRelease(cmd.Context(), layout.ModuleVersion{Module: own, Version: version}); err != nil {
				return explained(err, fmt.Sprintf("find %s@%s", module, version))
			}
		}
		list, err := completeUsers(cmd.Context(), s, module, namespace)
		if err != nil {
			return explained(err, "find who uses "+module)
		}
		users := stacksOf(list.Items)
		if len(users) == 0 {
			s.News("No stack uses %s.", module)
			return (&trial{session: s, module: module, version: version}).show(out, nil)
		}
		chosen := sampleOf(users, sample)
		s.News("Planning %s with %s %s. Nothing is applied.", howMany(len(chosen), len(users)), module, version)
		t := &trial{session: s, module: module, version: version, total: len(chosen)}
		t.run(cmd.Context(), chosen, parallel)
		return t.show(out, cmd.Context().Err())
	})
	return cmd
}

// completeUsers lists who uses a module. A server that has just started does not know all of them yet.
func completeUsers(ctx context.Context, s *session.Session, module, namespace string) (content.UserList, error) {
	for told := false; ; told = true {
		list, err := s.Content.Users(ctx, module, namespace)
		if err != nil || !list.Incomplete {
			return list, err
		}
		if !told {
			s.News("The server has just started and still reads what it knows. Waiting for it.")
		}
		select {
		case <-ctx.Done():
			return list, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// tried is a stack to plan.
type tried struct{ namespace, name, version string }

// stacksOf lists each stack once, with the version that it has in effect.
func stacksOf(users []usage.User) (list []tried) {
	for _, u := range users {
		if !slices.ContainsFunc(list, func(t tried) bool { return t.namespace == u.Namespace && t.name == u.Stack }) {
			list = append(list, tried{u.Namespace, u.Stack, u.Version})
		}
	}
	return list
}

// sampleOf chooses stacks: those of different versions and namespaces take turns. The choice is the
// same each time.
func sampleOf(list []tried, n int) []tried {
	if n == 0 || n >= len(list) {
		return list
	}
	var groups [][]tried
	at := map[[2]string]int{}
	for _, t := range list {
		key := [2]string{t.version, t.namespace}
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], t)
	}
	var chosen []tried
	for turn := 0; len(chosen) < n; turn++ {
		for _, g := range groups {
			if turn < len(g) && len(chosen) < n {
				chosen = append(chosen, g[turn])
			}
		}
	}
	return chosen
}

func howMany(n, of int) string {
	if n == of {
		return ui.Count(n, "stack")
	}
	return fmt.Sprintf("%d of %d stacks", n, of)
}

// trial plans stacks, and collects the results.
type trial struct {
	session         *session.Session
	module, version string
	total           int
	results         []content.Try
}

func (t *trial) run(ctx context.Context, list []tried, parallel int) {
	progress := trials.NewProgress(t.session, t.total)
	t.results = trials.All(ctx, len(list), parallel, progress, func(ctx context.Context, i int) content.Try {
		one := list[i]
		return trials.One(ctx, one.namespace, one.name, trials.Calls{
			Start: func(ctx context.Context) (content.Try, error) {
				return t.session.Content.StartTry(ctx, one.namespace, one.name, t.module, t.version)
			},
			Wait: t.session.Content.WaitForTry, Cancel: t.session.Content.CancelTry,
		})
	})
	progress.End()
}

// tryReport is the answer of the command.
type tryReport struct {
	Module  string              `json:"module"`
	Version string              `json:"version"`
	Groups  []speculative.Group `json:"groups"`
	Stacks  []content.Try       `json:"stacks"`
}

// reportOf folds equal results.
func reportOf(module, version string, results []content.Try) tryReport {
	r := tryReport{Module: module, Version: version, Stacks: slices.Clone(results), Groups: speculative.Fold(results)}
	slices.SortFunc(r.Stacks, func(a, b content.Try) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return r
}

// show prints the report. The exit code says whether a plan failed.
func (t *trial) show(out *ui.Output, interrupted error) error {
	r := reportOf(t.module, t.version, t.results)
	if out.Machine() {
		if err := out.Print(t.session.Out, r); err != nil {
			return err
		}
	} else {
		for i := range r.Groups {
			fmt.Fprint(t.session.Out, trials.Text(&r.Groups[i]))
		}
	}
	failed := 0
	for _, g := range r.Groups {
		if g.Result == speculative.ResultFailed {
			failed += len(g.Stacks)
		}
	}
	switch {
	case interrupted != nil:
		return ui.Exitf(ui.ExitInterrupted, "interrupted after %d of %s", len(t.results), ui.Count(t.total, "stack"))
	case failed > 0:
		return ui.WithCode(ui.ExitRunFailed, errors.New(ui.Count(failed, "plan")+" failed"))
	}
	return nil
}
