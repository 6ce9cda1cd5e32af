// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewCommand is "yuba pr".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "pr COMMAND", Aliases: []string{"mr"}, SuggestFor: []string{"pull-request", "merge-request"},
		Short: "Show the pull requests that planners know, and plan them again",
		Long: `Show the pull requests that the PullRequestPlanners of a namespace know, the stacks that they change, and how far their plans
are. The plans themselves are in the comment at the forge. To plan what is not pushed yet, see "yuba preview".`,
		Example: "  yuba pr list\n  yuba pr show 7\n  yuba pr plan 7",
	}, newListCommand(a), newShowCommand(a), newPlanCommand(a))
}

func newListCommand(a *session.App) *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short:   "List pull requests and how far their plans are",
		Long:    "List the pull requests that the planners of the namespace know, or with -A those of all namespaces.",
		Example: "  yuba pr list\n  yuba pr list -A -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the pull requests of all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		planners, err := readPlanners(cmd.Context(), s, in(s, everywhere))
		if err != nil {
			return err
		}
		list := knownOf(planners)
		switch {
		case out.Machine():
			return out.Print(s.Out, map[string]any{"items": list})
		case len(planners) == 0:
			s.News("There is no PullRequestPlanner.")
			return nil
		case len(list) == 0:
			s.News("No planner knows a pull request.")
			return nil
		}
		rows := [][]string{{"PULL REQUEST", "STATE", "STACKS", "CHANGES", "NOTE", "TITLE"}}
		if everywhere {
			rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		}
		for i := range list {
			k := &list[i]
			row := []string{k.name(), string(k.State), fmt.Sprint(len(k.Stacks) + int(k.MoreStacks)), counts(k.Counts), k.Message, k.Title}
			if everywhere {
				row = append([]string{k.Namespace}, row...)
			}
			rows = append(rows, row)
		}
		return s.Table(rows, out)
	})
	return cmd
}

// counts are numbers of resources, as in other lists.
func counts(c yubav1.PullRequestCounts) string {
	return fmt.Sprintf("+%d ~%d -%d", c.Add, c.Change, c.Destroy)
}

// aboutOne makes a command about one pull request.
func aboutOne(a *session.App, cmd *cobra.Command, do func(ctx context.Context, s *session.Session, k *known) error) *cobra.Command {
	var planner string
	cmd.Args = ui.Arguments(1, 1)
	cmd.ValidArgsFunction = ui.NoNames
	cmd.Flags().StringVar(&planner, "planner", "", "the PullRequestPlanner, if several know the pull request")
	ui.CompleteFlag(cmd, "planner", cobra.NoFileCompletions)
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		r, err := parseReference(args[0], planner)
		if err != nil {
			return ui.UsageErrorOf(cmd, err)
		}
		planners, err := readPlanners(cmd.Context(), s, s.Namespace)
		if err != nil {
			return err
		}
		k, err := find(knownOf(planners), r)
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, k)
	})
	return cmd
}

func newShowCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NUMBER", Aliases: []string{"get"},
		Short: "Show a pull request and the stacks that it changes",
		Long: `Show a pull request: its commit, how far its plans are, and what each of them changes; then the commit status of each
environment (spec.feedback.environmentLabel of the PullRequestPlanner), and the stacks that read what the plans change, with
what breaks first (spec.impact). NUMBER is the number at the forge, or
SOURCE#NUMBER with the name of the GitRepository.`,
		Example: "  yuba pr show 7\n  yuba pr show infra#7 -o json",
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	return aboutOne(a, cmd, func(_ context.Context, s *session.Session, k *known) error {
		if out.Machine() {
			return out.Print(s.Out, k)
		}
		fmt.Fprint(s.Out, headOf(k))
		if len(k.Stacks) == 0 {
			s.News("It changes no stack, as far as it is planned.")
			return showEnvironments(s, k, out)
		}
		rows := [][]string{{"STACK", "STATE", "CHANGES", "NOTE"}}
		for _, one := range k.Stacks {
			rows = append(rows, []string{one.Name, string(one.State), counts(one.Counts), one.Message})
		}
		if err := s.Table(rows, out); err != nil {
			return err
		}
		if k.MoreStacks > 0 {
			s.News("And %d more.", k.MoreStacks)
		}
		if err := showEnvironments(s, k, out); err != nil {
			return err
		}
		return showBehind(s, k, out)
	})
}

// headOf says in lines what a pull request is.
func headOf(k *known) string {
	var b strings.Builder
	for _, line := range [][2]string{{"Pull request", k.name()}, {"Title", ui.OneLine(k.Title)}, {"Author", ui.OneLine(k.Author)}, {"Page", k.URL}, {"Commit", k.Head},
		{"State", string(k.State)}, {"Note", ui.OneLine(k.Message)}, {"Changes", counts(k.Counts)}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-13s %s\n", line[0], line[1])
		}
	}
	return b.String() + "\n"
}

func newPlanCommand(a *session.App) *cobra.Command {
	return aboutOne(a, &cobra.Command{
		Use: "plan NUMBER", Aliases: []string{"replan"},
		Short: "Plan a pull request again",
		Long: `Request new plans of all stacks that a pull request changes, as "/yuba replan" does in a comment. It requires the right to update the
PullRequestPlanner.`,
		Example: "  yuba pr plan 7\n  yuba pr plan infra#7 -n team-a",
	}, func(ctx context.Context, s *session.Session, k *known) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			yubav1.AnnotationPlanPullRequest: k.name(), meta.ReconcileRequestAnnotation: session.NewRequest()}}})
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(session.PullRequestPlanners.GVK)
		o.SetNamespace(k.Namespace)
		o.SetName(k.Planner)
		if err := s.Objects.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), session.FieldOwner); err != nil {
			return fmt.Errorf("request plans of %s: %w", k.name(), err)
		}
		s.News("Requested plans of %s. Check with:\n    yuba pr show %s -n %s", k.name(), k.name(), k.Namespace)
		return nil
	})
}
