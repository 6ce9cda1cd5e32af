// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/usage"
)

const queryHelp = `QUERY is a module of this registry (acme/vpc/aws), any other source of a module (registry.opentofu.org/terraform-aws-modules/vpc/aws,
git::https://example.com/modules.git), or a provider (hashicorp/aws). A range of versions may follow: @1.2.0, "@<2",
"@~> 1.2, != 1.2.5". Pre-releases count as below their release.`

// newUsersCommand is "yuba registry users".
func newUsersCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "users QUERY", SuggestFor: []string{"who", "uses", "usage"},
		Short: "Show which stacks use a module or provider, and in which version",
		Long: `Show which stacks use a module or provider, and in which version. The versions are those that the last runs of the stacks
resolved: "applied" if the stack's resources were made with it, "planned" if only a plan that is not applied yet has it.

` + queryHelp + `

Without -n, the command shows all namespaces, which requires the right to list the resource "usage" of the API group
content.yuba.dev everywhere; the role "view" has it. Without it, the command counts the stacks that use a module of this
registry, and does not name them.`,
		Example: "  yuba registry users acme/vpc/aws\n  yuba registry users 'acme/vpc/aws@<2' -n team-a\n  yuba registry users 'hashicorp/aws@<5' -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "wide")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if _, err := usage.ParseQuery(args[0]); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		list, err := s.Content.Users(cmd.Context(), args[0], a.NamespaceFlag())
		counted := false
		if apierrors.IsForbidden(err) && a.NamespaceFlag() == "" {
			// A module's author may know how many use it without the right to see their stacks.
			if count, failed := s.Content.CountUsers(cmd.Context(), args[0]); failed == nil {
				list, err, counted = count, nil, true
			}
		}
		if err != nil {
			return fmt.Errorf("find who uses %s: %w", args[0], err)
		}
		if list.Incomplete {
			s.News("The server has just started and still reads what it knows: the list may lack stacks.")
		}
		if out.Machine() {
			return out.Print(s.Out, list)
		}
		if counted {
			s.News("You may not list stacks of all namespaces, so they are only counted. With -n, stacks of one namespace are named.")
			return showCounts(s, list.Count, out)
		}
		if len(list.Items) == 0 {
			s.News("No stack uses %s.", args[0])
			return nil
		}
		return showUsers(s, list.Items, out)
	})
	return cmd
}

func showCounts(s *session.Session, count usage.Count, out *ui.Output) error {
	rows := [][]string{{"VERSION", "STACKS"}}
	for _, v := range slices.Sorted(maps.Keys(count.Versions)) {
		rows = append(rows, []string{cmp.Or(v, "-"), strconv.Itoa(count.Versions[v])})
	}
	return s.Table(rows, out)
}

func showUsers(s *session.Session, users []usage.User, out *ui.Output) error {
	now := time.Now()
	sources := map[string]bool{}
	for _, u := range users {
		sources[u.Source] = true
	}
	rows := [][]string{{"NAMESPACE", "STACK", "VERSION", "CONSTRAINT", "STATE", "SINCE", "LAST RUN", "NOTICE"}}
	if len(sources) > 1 || out.Wide() {
		rows[0] = append(rows[0], "SOURCE")
	}
	if out.Wide() {
		rows[0] = append(rows[0], "CALLS")
	}
	for _, u := range users {
		row := []string{u.Namespace, u.Stack, cmp.Or(usage.ShownVersion(u.Use), "-"), cmp.Or(u.Constraint, "-"), string(u.Standing),
			ui.Age(now, u.Since), u.Outcome + " " + ui.Age(now, u.LastRunAt) + " ago", noticeOf(u.Notice)}
		if len(sources) > 1 || out.Wide() {
			row = append(row, u.Source)
		}
		if out.Wide() {
			row = append(row, strings.Join(u.Keys, ","))
		}
		rows = append(rows, row)
	}
	return s.Table(rows, out)
}

func noticeOf(n *usage.Notice) string {
	if n == nil {
		return ""
	}
	return strings.TrimSuffix(n.Kind+": "+n.Reason, ": ")
}

// newOutdatedCommand is "yuba registry outdated".
func newOutdatedCommand(a *session.App) *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use: "outdated", SuggestFor: []string{"upgrades", "old"},
		Short: "Show which stacks use versions of modules and providers for which there are newer ones",
		Long: `Show which stacks use versions of modules and providers for which there are newer ones, and versions that are deprecated or
revoked. ALLOWED is the newest version that the constraint of the stack allows: the next upgrade takes it. NEWEST is the newest
of all. Revoked versions and pre-releases do not count.

Of modules in this registry, all versions are known. Of others, the command knows the versions that any stack uses.`,
		Example: "  yuba registry outdated\n  yuba registry outdated -A -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "show stacks of all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml", "wide")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		namespace := s.Namespace
		if everywhere {
			namespace = ""
		}
		list, err := s.Content.Outdated(cmd.Context(), namespace)
		if err != nil {
			return fmt.Errorf("find outdated versions: %w", err)
		}
		if list.Incomplete {
			s.News("The server has just started and still reads what it knows: the list may lack stacks.")
		}
		if out.Machine() {
			return out.Print(s.Out, list)
		}
		if len(list.Items) == 0 {
			s.News("Nothing is outdated.")
			return nil
		}
		rows := [][]string{{"NAMESPACE", "STACK", "MODULE OR PROVIDER", "VERSION", "CONSTRAINT", "ALLOWED", "NEWEST", "STATE", "NOTICE"}}
		for _, o := range list.Items {
			rows = append(rows, []string{o.Namespace, o.Stack, o.Source, o.Version, cmp.Or(o.Constraint, "-"), cmp.Or(o.Allowed, "-"), cmp.Or(o.Newest, "-"),
				string(o.Standing), noticeOf(o.Notice)})
		}
		return s.Table(rows, out)
	})
	return cmd
}
