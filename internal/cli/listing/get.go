// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Query has the flags of a command below "yuba get".
type Query struct {
	All, watch, noHeader bool
	Selector             labels.Selector
	// Keep selects among the found objects.
	Keep func(*session.Object) bool
	// Some is true if the query may exclude objects.
	Some  bool
	Kinds []session.Kind
	// typed answers programs with a TerraformList instead of a List.
	typed bool
}

// ObjectCommand makes a command that lists objects of these kinds.
func ObjectCommand(a *session.App, cmd *cobra.Command, kinds ...session.Kind) *cobra.Command {
	return gettingCommand(a, cmd, Query{Kinds: kinds})
}

func gettingCommand(a *session.App, cmd *cobra.Command, g Query) *cobra.Command {
	flags := cmd.Flags()
	read := g.AddFlags(cmd, "objects", "team=network")
	flags.BoolVar(&g.noHeader, "no-header", false, "omit the header")
	if len(g.Kinds) == 1 {
		flags.BoolVarP(&g.watch, "watch", "w", false, "print each row that changes, until Ctrl-C")
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := read(); err != nil {
			return err
		}
		if len(args) > 0 && (g.All || !g.Selector.Empty()) {
			return ui.UsageErrorf(cmd, "name %s or use -A or -l, not both", g.Kinds[0].People())
		}
		if g.watch && out.Machine() {
			return ui.UsageErrorf(cmd, "--watch only prints tables; programs can use:\n    yuba kubectl get %s --watch -o json", g.Kinds[0].Plural)
		}
		s, err := a.Connect()
		if err != nil {
			return err
		}
		return NewView(s, g, out).run(cmd, args)
	}
	return cmd
}

// AddFlags adds the flags that select objects. The returned function reads them into the query.
func (g *Query) AddFlags(cmd *cobra.Command, noun, label string) (read func() error) {
	cmd.Flags().BoolVarP(&g.All, "all-namespaces", "A", false, "list objects of all namespaces")
	selector := cmd.Flags().StringP("selector", "l", "", "list only "+noun+" with these labels, such as "+label)
	status := cmd.Flags().String("status-selector", "", "list only objects with this condition, such as ready=false")
	return func() (err error) {
		if g.Selector, err = labels.Parse(*selector); err != nil {
			return ui.UsageErrorf(cmd, "-l %s: %w", *selector, err)
		}
		g.Some = *selector != "" || *status != ""
		g.Keep, err = statusSelector(cmd, *status)
		return err
	}
}

// statusSelector selects objects by a condition, CONDITION=STATUS.
func statusSelector(cmd *cobra.Command, wanted string) (func(*session.Object) bool, error) {
	if wanted == "" {
		return func(*session.Object) bool { return true }, nil
	}
	condition, status, ok := strings.Cut(wanted, "=")
	if !ok || condition == "" || status == "" {
		return nil, ui.UsageErrorf(cmd, "--status-selector %q: want CONDITION=STATUS, such as ready=false", wanted)
	}
	return func(o *session.Object) bool {
		if o.Kind.Reports && strings.EqualFold(condition, meta.ReadyCondition) {
			// As the column READY: tenant templates have no condition of that name.
			return strings.EqualFold(string(o.Ready().Status), status)
		}
		return slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
			return strings.EqualFold(c.Type, condition) && strings.EqualFold(string(c.Status), status)
		})
	}, nil
}

// NewView makes the view of a query.
func NewView(s *session.Session, q Query, out *ui.Output) *View {
	v := &View{Session: s, Query: q, Answer: out, Namespace: s.Namespace, told: map[string]string{}}
	if q.All || len(q.Kinds) > 0 && q.Kinds[0].ClusterWide {
		v.Namespace = ""
	}
	return v
}

// View lists objects.
type View struct {
	*session.Session
	Query
	Answer    *ui.Output
	Namespace string
	// served is the API's own table; nil for the other kinds.
	served *servedTable
	// columns keep their widths during a watch; told is the last row of each object.
	columns ui.Columns
	told    map[string]string
}

func (v *View) run(cmd *cobra.Command, args []string) error {
	keys, err := v.Keys(cmd, v.Kinds[0], args)
	if err != nil {
		return err
	}
	if len(v.Kinds) == 1 && v.Kinds[0].GVK == session.StackKind && !v.Answer.Machine() {
		if v.served, err = openTable(v.Session, session.Stacks); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	var objects []*session.Object
	switch {
	case len(keys) > 0:
		objects, err = v.getAll(ctx, keys)
	case len(v.Kinds) == 1:
		objects, _, err = v.list(ctx, v.Namespace)
	default:
		objects, err = v.listKinds(ctx)
	}
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *session.Object) bool { return !v.Keep(o) })
	if v.watch {
		v.table(objects)
		return v.follow(ctx, keys)
	}
	return v.Show(objects)
}

// Show writes objects in the form of -o.
func (v *View) Show(objects []*session.Object) error {
	switch {
	case v.Answer.Form == "name":
		for _, o := range objects {
			fmt.Fprintln(v.Out, o.FullName())
		}
	case v.Answer.Machine() && v.typed:
		return v.showStacks(objects)
	case v.Answer.Machine():
		items := make([]any, 0, len(objects))
		for _, o := range objects {
			items = append(items, withoutRow(o).Object)
		}
		return v.Answer.Print(v.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	case len(objects) == 0:
		v.nothing()
	default:
		v.table(objects)
	}
	return nil
}

func (v *View) nothing() {
	what := "sources"
	switch {
	case len(v.Kinds) == 1:
		what = v.Kinds[0].People()
	case len(v.Kinds) == len(session.AllKinds):
		what = "sources, Kustomizations, tenants, stacks, receivers or alerts"
	}
	if v.Some {
		what = "such " + what
	}
	if v.Namespace == "" {
		v.News("No %s found.", what)
		return
	}
	v.News("No %s found in namespace %s. Use -A to list all namespaces.", what, v.Namespace)
}

// StackCommand lists stacks.
func StackCommand(a *session.App, cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(0, -1), a.StackNames(true)
	return gettingCommand(a, cmd, Query{Kinds: []session.Kind{session.Stacks}, typed: true})
}

func (v *View) showStacks(objects []*session.Object) error {
	list := session.StackList()
	for _, o := range objects {
		var t infrav1.Terraform
		if err := o.As(&t); err != nil {
			return err
		}
		list.Items = append(list.Items, t)
	}
	return v.PrintStacks(list, v.Answer)
}
