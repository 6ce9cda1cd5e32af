// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func newGetCommand(a *app) *cobra.Command {
	cmd := listCommand(a, &cobra.Command{
		Use:   "get [NAME]...",
		Short: "List sources, Kustomizations and all the rest",
		Long: `List what one of the commands below names: whether each is ready, its revision, and what it says. "yuba get all" lists
everything.

Without such a word stacks are listed, as "yuba list" does; a stack that is called like one of the commands is
NAMESPACE/NAME.`,
		Example: "  yuba get all -A\n  yuba get sources git\n  yuba get kustomizations --status-selector ready=false\n  yuba get vpc",
	})
	cmd.AddCommand(getCommand(a, &cobra.Command{
		Use: "all", Args: arguments(0, 0),
		Short:   "List everything: sources, Kustomizations, tenants, stacks, receivers, alerts",
		Long:    "List everything: sources, Kustomizations, registries, templates and tenants, stacks, receivers, alerts and their providers.",
		Example: "  yuba get all\n  yuba get all -A --status-selector ready=false",
	}, allKinds...), newGetSourcesCommand(a))
	for _, k := range allKinds {
		cmd.AddCommand(getKindCommand(a, k, k.plural, k.also))
	}
	breakers := getKindCommand(a, circuitBreakers, circuitBreakers.plural, circuitBreakers.also)
	breakers.Short = "List outages that many stacks suffer from alike"
	breakers.Long = "List outages that many stacks suffer from alike: whether each is open, how many stacks failed, since when, and what it is. They\nbelong to no namespace."
	breakers.Example = "  yuba get circuitbreakers\n  yuba get cb --status-selector ready=false\n  yuba get cb --watch"
	cmd.AddCommand(breakers)
	return cmd
}

// newGetSourcesCommand has the words that the other commands have for sources.
func newGetSourcesCommand(a *app) *cobra.Command {
	sources := slices.DeleteFunc(slices.Clone(allKinds), func(k kind) bool { return !k.source })
	cmd := getCommand(a, &cobra.Command{
		Use: "sources", Aliases: []string{"source"}, Args: noSuchCommand,
		Short:   "List all sources",
		Long:    "List all sources: GitRepositories, OCIRepositories, Buckets and ExternalArtifacts.",
		Example: "  yuba get sources\n  yuba get sources git -A",
	}, sources...)
	cmd.AddCommand(getCommand(a, &cobra.Command{
		Use: "all", Args: arguments(0, 0), Short: "List all sources", Long: "List all sources, as \"yuba get sources\" does.", Example: "  yuba get sources all",
	}, sources...))
	for _, k := range sources {
		cmd.AddCommand(getKindCommand(a, k, k.word, append([]string{k.plural}, k.also...)))
	}
	return cmd
}

func getKindCommand(a *app, k kind, use string, also []string) *cobra.Command {
	also = slices.DeleteFunc(slices.Clone(also), func(name string) bool { return name == use })
	return getCommand(a, &cobra.Command{
		Use: use + " [NAME]...", Aliases: also, Args: arguments(0, -1), ValidArgsFunction: a.objectNames(k, true),
		Short:   "List " + k.people(),
		Long:    "List the " + k.people() + " of a namespace, of all, or those that are named: whether each is ready, its revision, and what it says.",
		Example: fmt.Sprintf("  yuba get %s -A\n  yuba get %s web -o yaml\n  yuba get %s --watch", k.plural, k.plural, k.plural),
	}, k)
}

// getting is what the flags of a command below "yuba get" say.
type getting struct {
	all, watch, noHeader bool
	selector             labels.Selector
	// keep says which objects are wanted of those that were found.
	keep func(*object) bool
	// some is true when not all objects are wanted.
	some  bool
	kinds []kind
	// typed answers programs with a TerraformList, not with a List of anything.
	typed bool
}

func getCommand(a *app, cmd *cobra.Command, kinds ...kind) *cobra.Command {
	return gettingCommand(a, cmd, getting{kinds: kinds})
}

func gettingCommand(a *app, cmd *cobra.Command, g getting) *cobra.Command {
	var selector, status string
	flags := cmd.Flags()
	flags.BoolVarP(&g.all, "all-namespaces", "A", false, "list those of all namespaces")
	flags.StringVarP(&selector, "selector", "l", "", "list only those with these labels, such as team=network")
	flags.StringVar(&status, "status-selector", "", "list only those with this condition, such as ready=false")
	flags.BoolVar(&g.noHeader, "no-header", false, "leave out the line with the names of the columns")
	if len(g.kinds) == 1 {
		flags.BoolVarP(&g.watch, "watch", "w", false, "go on and print each row that changes, until Ctrl-C")
	}
	out := addTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := out.check(cmd); err != nil {
			return err
		}
		if g.some = selector != "" || status != ""; len(args) > 0 && (g.all || selector != "") {
			noun := "objects"
			if g.kinds[0].gvk == stackKind {
				noun = "stacks"
			}
			return usageErrorf(cmd, "name %s or use -A or -l, not both", noun)
		}
		if g.selector, err = labels.Parse(selector); err != nil {
			return usageErrorf(cmd, "-l %s: %w", selector, err)
		}
		if g.keep, err = statusSelector(cmd, status); err != nil {
			return err
		}
		if g.watch && out.machine() {
			return usageErrorf(cmd, "--watch is for people; programs may use:\n    yuba kubectl get %s --watch -o json", g.kinds[0].plural)
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		v := &getView{session: s, getting: g, answer: out, namespace: s.namespace, told: map[string]string{}}
		if g.all || g.kinds[0].clusterWide {
			v.namespace = ""
		}
		return v.run(cmd, args)
	}
	return cmd
}

// statusSelector says which objects have the condition that is wanted.
func statusSelector(cmd *cobra.Command, wanted string) (func(*object) bool, error) {
	if wanted == "" {
		return func(*object) bool { return true }, nil
	}
	condition, status, ok := strings.Cut(wanted, "=")
	if !ok || condition == "" || status == "" {
		return nil, usageErrorf(cmd, "--status-selector %q: want CONDITION=STATUS, such as ready=false", wanted)
	}
	return func(o *object) bool {
		if o.kind.reports && strings.EqualFold(condition, meta.ReadyCondition) {
			// What the column says: templates of tenants have no condition of that name.
			return strings.EqualFold(string(o.ready().Status), status)
		}
		return slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
			return strings.EqualFold(c.Type, condition) && strings.EqualFold(string(c.Status), status)
		})
	}, nil
}

// getView lists objects.
type getView struct {
	*session
	getting
	answer    *output
	namespace string
	// served is the API's own table; nil for kinds whose table is made here.
	served *servedTable
	// columns keep their widths while objects are watched; told is what was said last of each object.
	columns columns
	told    map[string]string
}

func (v *getView) run(cmd *cobra.Command, args []string) error {
	keys, err := v.keys(cmd, v.kinds[0], args)
	if err != nil {
		return err
	}
	if len(v.kinds) == 1 && v.kinds[0].gvk == stackKind && !v.answer.machine() {
		if v.served, err = v.servedTable(stacks); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	var objects []*object
	switch {
	case len(keys) > 0:
		objects, err = v.getAll(ctx, keys)
	case len(v.kinds) == 1:
		objects, _, err = v.list(ctx, v.namespace)
	default:
		objects, err = v.listKinds(ctx)
	}
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *object) bool { return !v.keep(o) })
	if v.watch {
		v.table(objects)
		return v.follow(ctx, keys)
	}
	return v.show(objects)
}

func (v *getView) show(objects []*object) error {
	switch {
	case v.answer.form == "name":
		for _, o := range objects {
			fmt.Fprintln(v.out, o.fullName())
		}
	case v.answer.machine() && v.typed:
		return v.showStacks(objects)
	case v.answer.machine():
		items := make([]any, 0, len(objects))
		for _, o := range objects {
			items = append(items, withoutRow(o).Object)
		}
		return v.answer.print(v.out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	case len(objects) == 0:
		v.nothing()
	default:
		v.table(objects)
	}
	return nil
}

// nothing says that there is nothing, and where else to look.
func (v *getView) nothing() {
	what := "sources"
	switch {
	case len(v.kinds) == 1:
		what = v.kinds[0].people()
	case len(v.kinds) == len(allKinds):
		what = "sources, Kustomizations, tenants, stacks, receivers or alerts"
	}
	if v.some {
		what = "such " + what
	}
	if v.namespace == "" {
		v.news("There are no %s.", what)
		return
	}
	v.news("There are no %s in namespace %s. -A lists those of all namespaces.", what, v.namespace)
}
