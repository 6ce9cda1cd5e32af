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

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/usage"
)

const queryHelp = `QUERY is a module of this registry (acme/vpc/aws), any other source of a module (registry.opentofu.org/terraform-aws-modules/vpc/aws,
git::https://example.com/modules.git), or a provider (hashicorp/aws), or tofu or terraform itself. A range of versions may follow: @1.2.0, "@<2",
"@~> 1.2, != 1.2.5". Pre-releases count as below their release. A * stands for any name: acme/vpc/* is the module of any system, and
'*' alone is everything.`

// newUsersCommand is "yuba registry users".
func newUsersCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "users QUERY", SuggestFor: []string{"who", "uses", "usage"},
		Short: "Show which stacks use a module, provider or tool, and in which version",
		Long: `Show which stacks use a module or provider, and in which version. The versions are those that the last runs of the stacks
resolved: "applied" if the stack's resources were made with it, "planned" if only a plan that is not applied yet has it.

` + queryHelp + `

` + fmt.Sprintf(scopeHelp, "usage") + ` Without it, the command counts the stacks
that use a module of this registry, and does not name them.`,
		Example: "  yuba registry users acme/vpc/aws\n  yuba registry users 'tofu@<1.10'\n  yuba registry users 'acme/vpc/aws@<2' -n team-a\n  yuba registry users 'hashicorp/aws@<5' -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: releaseNames(a),
	}
	within := addScope(cmd, a)
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if _, err := usage.ParseQuery(args[0]); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		namespace, err := within.namespace(cmd)
		if err != nil {
			return err
		}
		list, err := s.Content.Users(cmd.Context(), args[0], namespace)
		counted := false
		if apierrors.IsForbidden(err) && namespace == "" {
			// A module's author may know how many use it without the right to see their stacks.
			if count, failed := s.Content.CountUsers(cmd.Context(), args[0]); failed == nil {
				list, err, counted = count, nil, true
			}
		}
		if err != nil {
			return fmt.Errorf("find who uses %s: %w", args[0], err)
		}
		sayIncomplete(s, list.Incomplete)
		if counted {
			s.News("You may not list stacks of all namespaces, so they are only counted. With -n, stacks of one namespace are named.")
			return listedCounts(list, args[0]).Show(s.Console, out)
		}
		return listedUsers(list, args[0], time.Now()).Show(s.Console, out)
	})
	return cmd
}

func noUsers(query string) string { return "No stack uses " + query + "." }

func listedCounts(list content.UserList, query string) *listing.List {
	l := &listing.List{Answer: list, None: noUsers(query), Rows: [][]string{{"VERSION", "STACKS"}}}
	for _, v := range slices.Sorted(maps.Keys(list.Count.Versions)) {
		l.Rows = append(l.Rows, []string{cmp.Or(v, "-"), strconv.Itoa(list.Count.Versions[v])})
	}
	return l
}

func listedUsers(list content.UserList, query string, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: noUsers(query), Wide: []string{"CALLS"},
		Rows: [][]string{{"NAMESPACE", "STACK", "VERSION", "CONSTRAINT", "STATE", "SINCE", "LAST RUN", "NOTICE", "SOURCE", "CALLS"}}}
	sources := map[string]bool{}
	for _, u := range list.Items {
		sources[u.Source] = true
		l.Rows = append(l.Rows, []string{u.Namespace, u.Stack, cmp.Or(usage.ShownVersion(u.Use), "-"), cmp.Or(u.Constraint, "-"), string(u.Standing),
			ui.Age(now, u.Since), u.Outcome + " " + ui.Age(now, u.LastRunAt) + " ago", noticeOf(u.Notice), u.Source, strings.Join(u.Keys, ",")})
		if name := u.Namespace + "/" + u.Stack; !slices.Contains(l.Names, name) {
			l.Names = append(l.Names, name)
		}
	}
	if len(sources) == 1 { // usually that of the query
		l.Wide = append(l.Wide, "SOURCE")
	}
	return l
}

func noticeOf(n *usage.Notice) string {
	if n == nil {
		return ""
	}
	return strings.TrimSuffix(n.Kind+": "+n.Reason, ": ")
}

// newOutdatedCommand is "yuba registry outdated".
func newOutdatedCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "outdated", SuggestFor: []string{"upgrades", "old"},
		Short: "Show which stacks use versions of modules and providers for which there are newer ones",
		Long: `Show which stacks use versions of modules and providers for which there are newer ones, and versions that are deprecated or
revoked. ALLOWED is the newest version that the constraint of the stack allows: the next upgrade takes it. NEWEST is the newest
of all. Revoked versions and pre-releases do not count.

Of modules in this registry, all versions are known. Of others, the command knows the versions that any stack uses.

` + fmt.Sprintf(scopeHelp, "outdated") + ` Without it, the command is about
the namespace of the context.`,
		Example: "  yuba registry outdated\n  yuba registry outdated -n team-a -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	within := addScope(cmd, a)
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		namespace, err := within.namespace(cmd)
		if err != nil {
			return err
		}
		list, err := s.Content.Outdated(cmd.Context(), namespace)
		if apierrors.IsForbidden(err) && namespace == "" && !within.all {
			if own, failed := s.Content.Outdated(cmd.Context(), s.Namespace); failed == nil {
				s.News("You may not list stacks of all namespaces. These are those of %s:", s.Namespace)
				list, err = own, nil
			}
		}
		if err != nil {
			return fmt.Errorf("find outdated versions: %w", err)
		}
		sayIncomplete(s, list.Incomplete)
		return listedOutdated(list).Show(s.Console, out)
	})
	return cmd
}

func listedOutdated(list content.OutdatedList) *listing.List {
	l := &listing.List{Answer: list, None: "Nothing is outdated.",
		Rows: [][]string{{"NAMESPACE", "STACK", "MODULE OR PROVIDER", "VERSION", "CONSTRAINT", "ALLOWED", "NEWEST", "STATE", "NOTICE"}}}
	for _, o := range list.Items {
		l.Rows = append(l.Rows, []string{o.Namespace, o.Stack, o.Source, o.Version, cmp.Or(o.Constraint, "-"), cmp.Or(o.Allowed, "-"), cmp.Or(o.Newest, "-"),
			string(o.Standing), noticeOf(o.Notice)})
		if name := o.Namespace + "/" + o.Stack; !slices.Contains(l.Names, name) {
			l.Names = append(l.Names, name)
		}
	}
	return l
}
